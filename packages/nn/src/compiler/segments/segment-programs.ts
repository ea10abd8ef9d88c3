import type { Executor, Program } from '../../executor/executor.ts';
import type { Node, Value } from '../../graph/node.ts';
import { createNode, isNode } from '../../graph/node.ts';
import type { Source } from '../../graph/source.ts';
import type { Leaf } from '../../graph/structure.ts';
import { newArray } from '../../dtype.ts';
import { input } from '../../ops/source.ts';
import { programCache, registerPrograms } from '../program-cache.ts';
import { definitionOf } from '../program-definition.ts';
import { isLeaf, type Segment, type SegmentKey } from './cut.ts';

/** Programs of segments for each program that `programCache.maxSize` allows: a program of a few nodes takes little memory. */
const perProgram = 64;

/** Segments without a program that are remembered. */
const maxSeen = 4096;

/** A segment that graphs have. */
export interface SegmentEntry {
  readonly key: SegmentKey;
  /** `Executor.settings` at the time of compilation. */
  readonly settings: string | undefined;
  /** Undefined until it is compiled. */
  program: Program | undefined;
  /** True from the second graph or place on. */
  isKnown: boolean;
}

/** The compiled segments of one executor, a least-recently-used cache. */
export class SegmentPrograms {
  readonly #executor: Executor;
  readonly #byHash = new Map<number, SegmentEntry[]>();
  /** Those that are not compiled, the oldest first. */
  readonly #seen = new Set<SegmentEntry>();
  /** Those that are compiled. The most recently used is last. */
  readonly #compiled = new Set<SegmentEntry>();

  constructor(executor: Executor) {
    this.#executor = executor;
    registerPrograms(this);
  }

  get size(): number {
    return this.#compiled.size;
  }

  /** The entry of a segment, which is one object for equal segments. */
  entryOf({ key }: Segment): SegmentEntry {
    const settings = this.#executor.settings?.();
    const alike = this.#byHash.get(key.hash);
    const known = alike?.find((entry) => entry.settings === settings && entry.key.equals(key));
    if (known) {
      known.isKnown = true;
      return known;
    }
    const entry: SegmentEntry = { key, settings, program: undefined, isKnown: false };
    if (alike) alike.push(entry);
    else this.#byHash.set(key.hash, [entry]);
    this.#seen.add(entry);
    return entry;
  }

  /** The programs of segments, one for each, which it compiles if they are new. Run them at once. */
  async of(segments: readonly Segment[], entries: readonly SegmentEntry[]): Promise<readonly Program[]> {
    for (const [index, entry] of entries.entries()) {
      if (entry.program) continue;
      this.#add(entry, await this.#executor.compile(definitionOfSegment(segments[index])));
    }
    return this.#used(entries);
  }

  /** `of`, which blocks the event loop. */
  ofSync(segments: readonly Segment[], entries: readonly SegmentEntry[]): readonly Program[] {
    for (const [index, entry] of entries.entries()) {
      if (entry.program) continue;
      this.#add(entry, this.#executor.compileSync(definitionOfSegment(segments[index])));
    }
    return this.#used(entries);
  }

  /** Releases the least recently used programs. A program that is released ends its runs first. */
  shrinkTo(programs: number): void {
    for (const entry of this.#compiled) {
      if (this.#compiled.size <= perProgram * programs) return;
      this.#compiled.delete(entry);
      this.#forget(entry);
      void entry.program?.release();
      entry.program = undefined;
    }
  }

  #add(entry: SegmentEntry, program: Program): void {
    entry.program = program;
    this.#seen.delete(entry);
    this.#compiled.add(entry);
  }

  /** Bounds the number of segments that no graph may have again. Call it when no graph is being cut. */
  forgetOldest(): void {
    for (const entry of this.#seen) {
      if (this.#seen.size <= maxSeen) return;
      this.#seen.delete(entry);
      this.#forget(entry);
    }
  }

  #forget(entry: SegmentEntry): void {
    const others = this.#byHash.get(entry.key.hash)?.filter((other) => other !== entry) ?? [];
    if (others.length > 0) this.#byHash.set(entry.key.hash, others);
    else this.#byHash.delete(entry.key.hash);
  }

  /** Makes the programs the most recent. */
  #used(entries: readonly SegmentEntry[]): readonly Program[] {
    const programs = entries.map(({ program }) => program!);
    const used = new Set(entries);
    for (const entry of used) {
      this.#compiled.delete(entry);
      this.#compiled.add(entry);
    }
    // The least recent are first, so these remain, unless they alone are too many.
    this.shrinkTo(Math.max(programCache.maxSize, Math.ceil(used.size / perProgram)));
    return programs;
  }
}

/** The segment as a graph of its own, whose leaves are the values from outside. */
function definitionOfSegment({ nodes, inputs, outputs }: Segment) {
  const replaced = new Map<Value, Value>();
  const leaves = inputs.map((value): Leaf => {
    const leaf = leafFor(value);
    replaced.set(value, leaf.value);
    return leaf;
  });
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const node of nodes) {
    const rebuilt: Node = createNode(node.op, node.inputs.map(current), node.attributes, node.outputs);
    for (const output of node.outputs) replaced.set(output, rebuilt.outputs[output.index]);
  }
  return definitionOf('segment', leaves, outputs.map(current), { purpose: 'segment' });
}

function leafFor(value: Value): Leaf {
  const { node, dtype, shape } = value;
  if (isNode(node, 'Input')) return { value, source: node.attributes.source };
  // Runs bind other elements, of which there may be none here.
  const source: Source = { data: newArray(dtype, isLeaf(node) ? 1 : 0) };
  return { value: input(dtype, shape, source), source };
}
