import type { GpuAddress } from '@ringrun/native';
import { isNode, type Node, type Value } from '../../graph/node.ts';
import { inSequence, isCollective } from '../../graph/collective.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { sizeOf, type ValueType } from '../../value-type.ts';
import type { ProgramDefinition } from '../executor.ts';
import type { LibrarySettings } from '../precision.ts';
import { aligned, planArena, type Lifetime } from './arena.ts';
import { bytesFrom, bytesOf, memoryTypes } from './element-types.ts';
import { joinEqualUnits } from './equal-units.ts';
import { blockSize, blocksFor, elementIndex, generated, guardOf } from './generated.ts';
import { keptBytes, refusalBytes } from './kernels/refusals.ts';
import type { LoweredProgram, PendingCommand } from './lowered-program.ts';
import type { Refusal } from './lowering.ts';
import { NodeLowering } from './node-lowering.ts';
import { hasCommands } from './operators.ts';
import { Parts } from './parts.ts';
import { readsOfUnit, unitsOf, type Unit } from './units.ts';
import { withChecksFirst } from './update-checks.ts';
import { isView, viewedValue } from './views.ts';

/** Translates a graph whose operators the GPU computes, and whose inputs and outputs are not bfloat16. */
export function lowerProgram(definition: ProgramDefinition, settings: LibrarySettings): LoweredProgram {
  return new ProgramLowering(definition).lowered(settings);
}

class ProgramLowering {
  readonly #inputs: readonly Value[];
  readonly #outputs: readonly Value[];
  /** Number of the outputs outside of the update. */
  readonly #ownOutputs: number;
  /** Units outside of the update, then those of the update. */
  readonly #units: readonly Unit[];
  readonly #updateFrom: number;
  /** Before it, units of the update may refuse the run, so they are checked with those outside of it. */
  /** Where values are, by the values that they are views of. */
  readonly #homes = new Map<Value, GpuAddress>();
  readonly #constants: { value: Value; offset: number }[] = [];
  #constantBytes = 0;
  /** Values that a unit reads in memory, and outputs. */
  readonly #read = new Set<Value>();
  /** Outputs that are not where they are computed. */
  readonly #copies: { from: Value; output: number }[] = [];
  readonly #refusals: Refusal[] = [];
  readonly #parts: Parts;
  readonly #hasUpdate: boolean;

  constructor({ leaves, outputs, parts, update }: ProgramDefinition) {
    this.#inputs = [...leaves, ...(update?.leaves ?? [])].map(({ value }) => value);
    this.#outputs = [...outputs, ...(update?.outputs ?? [])];
    this.#ownOutputs = outputs.length;
    this.#hasUpdate = update !== undefined;
    const order = orderOf(outputs, parts);
    const known = new Set(order);
    const ofUpdate = topologicalOrder(update?.outputs ?? []).filter((node) => !known.has(node));
    const units = unitsOf(order.filter(hasCommands));
    const { checks, others } = withChecksFirst(joinEqualUnits(unitsOf(ofUpdate.filter(hasCommands))));
    this.#units = [...units, ...checks, ...others];
    this.#updateFrom = units.length;
    this.#parts = new Parts(parts, this.#outputs, units);
    for (const [slot, value] of this.#inputs.entries()) this.#homes.set(value, { slot });
    for (const [output, value] of update?.reads ?? []) {
      this.#homes.set(value, { slot: this.#inputs.length + output });
    }
    for (const node of [...order, ...ofUpdate]) if (isNode(node, 'Constant')) this.#addConstant(node);
  }

  lowered(settings: LibrarySettings): LoweredProgram {
    this.#placeOutputs();
    const live = this.#liveUnits();
    const arena = { slot: this.#refusalSlot + 2 };
    const scratchFrom = this.#placeValues(live, arena.slot);
    const lowering = new NodeLowering({
      at: (value) => this.#homes.get(viewedValue(value)),
      isRead: (value) => this.#read.has(value),
      scratchFrom,
      arena,
      refusalsAt: { slot: this.#refusalSlot },
      keptAt: { slot: this.#refusalSlot + 1 },
      refusals: this.#refusals,
      settings,
    });
    this.#lowerParts(lowering, -1);
    for (const [step, unit] of this.#units.entries()) {
      if (step === this.#updateFrom) this.#endOwn(lowering);
      if (live.has(unit)) lowering.lower(unit);
      if (step < this.#updateFrom) this.#lowerParts(lowering, step);
    }
    if (this.#updateFrom === this.#units.length) this.#endOwn(lowering);
    this.#copyOutputs(lowering, (output) => output >= this.#ownOutputs);
    lowering.endSection(undefined);
    const [first, ...others] = lowering.sections;
    const types = (values: readonly Value[]) => values.map(({ dtype, shape }) => ({ dtype, shape }));
    return {
      inputs: types(this.#inputs),
      outputs: types(this.#outputs),
      slots: [
        ...[...this.#inputs, ...this.#outputs].map(memoryOf),
        this.#constantBytes,
        refusalBytes * this.#refusals.length,
        keptBytes(this.#refusals.length),
        lowering.end,
      ],
      constants: this.#constantArray(),
      refusals: this.#refusals,
      sections: [{ ...first, commands: [...this.#cleared(), ...first.commands] }, ...others],
    };
  }

  /** Ends the sections outside of the update. */
  #endOwn(lowering: NodeLowering): void {
    const isApart = (output: number) => this.#parts.of(output) === undefined;
    this.#copyOutputs(lowering, (output) => output < this.#ownOutputs && isApart(output));
    if (this.#hasUpdate) lowering.endSection({ kind: 'update' });
  }

  /** Ends a section for each part that is complete after a step. */
  #lowerParts(lowering: NodeLowering, step: number): void {
    for (const index of this.#parts.completeAfter(step)) {
      this.#copyOutputs(lowering, (output) => this.#parts.of(output) === index);
      lowering.endSection({ kind: 'part', index });
    }
  }

  #copyOutputs(lowering: NodeLowering, isCopied: (output: number) => boolean): void {
    for (const { from, output } of this.#copies)
      if (isCopied(output)) this.#copyOutput(lowering, from, output);
  }

  /** Sets the cells of all refusals to 0. */
  #cleared(): readonly PendingCommand[] {
    const bytes = refusalBytes * this.#refusals.length;
    return bytes === 0 ? [] : [{ kind: 'fill', name: 'refusals', at: { slot: this.#refusalSlot }, bytes }];
  }

  get #constantSlot(): number {
    return this.#inputs.length + this.#outputs.length;
  }

  get #refusalSlot(): number {
    return this.#constantSlot + 1;
  }

  #addConstant(node: Node<'Constant'>): void {
    const [value] = node.outputs;
    this.#homes.set(value, { slot: this.#constantSlot, byteOffset: this.#constantBytes });
    this.#constants.push({ value, offset: this.#constantBytes });
    this.#constantBytes += aligned(memoryOf(value));
  }

  #constantArray(): Uint8Array {
    const bytes = new Uint8Array(this.#constantBytes);
    for (const { value, offset } of this.#constants) {
      const { values } = (value.node as Node<'Constant'>).attributes;
      bytes.set(bytesFrom(value.dtype, values), offset);
    }
    return bytes;
  }

  /**
   * A computed value is written to the first output that it is. An update may write over what the rest reads, and so may the call
   * of a part.
   */
  #placeOutputs(): void {
    const inUpdate = new Set(this.#units.slice(this.#updateFrom).flatMap(({ nodes }) => nodes));
    for (const [output, value] of this.#outputs.entries()) {
      const source = viewedValue(value);
      this.#read.add(source);
      const isOwn = output < this.#ownOutputs;
      const isExclusive =
        this.#parts.of(output) === undefined ? !this.#parts.has(source) : this.#parts.owns(source, output);
      if (!this.#homes.has(source) && isOwn !== inUpdate.has(source.node) && isExclusive) {
        this.#homes.set(source, { slot: this.#inputs.length + output });
      } else this.#copies.push({ from: source, output });
    }
  }

  /** Units of which something is read. Marks what they read. */
  #liveUnits(): ReadonlySet<Unit> {
    const live = new Set<Unit>();
    for (const unit of this.#units.toReversed()) {
      const isLive = unit.nodes.some(
        (node) => isCollective(node) || node.outputs.some((output) => this.#read.has(output)),
      );
      if (!isLive || unit.nodes.every(isView)) continue;
      live.add(unit);
      for (const value of readsOfUnit(unit)) this.#read.add(value);
    }
    return live;
  }

  /** Places what is neither input nor output into the arena. Returns the offset after it. */
  #placeValues(live: ReadonlySet<Unit>, slot: number): number {
    const places = new Map<Value, { bytes: number; first: number; last: number }>();
    for (const [step, unit] of this.#units.entries()) {
      if (!live.has(unit)) continue;
      for (const value of readsOfUnit(unit)) {
        const place = places.get(value);
        if (place) place.last = step;
      }
      for (const output of unit.nodes.flatMap((node) => (isView(node) ? [] : node.outputs))) {
        const needsMemory = !unit.isElementwise || this.#read.has(output);
        if (needsMemory && !this.#homes.has(output)) {
          places.set(output, { bytes: memoryOf(output), first: step, last: step });
        }
      }
    }
    for (const { from, output } of this.#copies) {
      const place = places.get(from);
      const ofPart = this.#parts.lastStepOf(output);
      const end = ofPart ?? (output < this.#ownOutputs ? this.#updateFrom - 1 : this.#units.length);
      if (place) place.last = Math.max(place.last, end);
    }
    const lifetimes: readonly Lifetime[] = [...places.values()];
    const { offsets, bytes } = planArena(lifetimes);
    for (const [index, value] of [...places.keys()].entries()) {
      this.#homes.set(value, { slot, byteOffset: offsets[index] });
    }
    for (const value of this.#read) {
      if (!this.#homes.has(value)) throw new Error(`The graph reads ${value.node.op}, which is no leaf.`);
    }
    return bytes;
  }

  #copyOutput(lowering: NodeLowering, from: Value, output: number): void {
    const bytes = memoryOf(from);
    const to = { slot: this.#inputs.length + output };
    const at = this.#homes.get(from)!;
    if (bytes === 0) return;
    const guard = guardOf(lowering);
    if (guard === undefined) {
      lowering.add({ kind: 'copy', name: 'output', from: at, to, bytes });
      return;
    }
    const count = sizeOf(from.shape);
    const type = memoryTypes[from.dtype];
    const { parameter, address, line } = guard;
    const body = [line, elementIndex(count), '  to[i] = from[i];'].join('\n');
    const parameters = [`${parameter.type} ${parameter.name}`, `const ${type}* from`, `${type}* to`];
    const kernel = generated('output', parameters, body);
    lowering.launch(kernel, blocksFor(count), [blockSize, 1, 1], [address, at, to]);
  }
}

/** All nodes, topological: what is in no part, then the collectives, then the parts. */
function orderOf(outputs: readonly Value[], parts: ProgramDefinition['parts']): readonly Node[] {
  const inParts = new Set(parts.flat());
  const collectives = inSequence(topologicalOrder(outputs));
  return topologicalOrder([
    ...outputs.filter((_, output) => !inParts.has(output)),
    ...collectives.map(({ outputs: [first] }) => first),
    ...outputs,
  ]);
}

function memoryOf({ dtype, shape }: ValueType): number {
  return bytesOf(dtype) * sizeOf(shape);
}
