import type { GpuAddress, GpuArgument, GpuCommand, GpuExtent } from '@ringrun/native';
import type { Value } from '../../graph/node.ts';
import type { LibrarySettings } from '../precision.ts';
import { sizeOf } from '../../value-type.ts';
import { aligned } from './arena.ts';
import { bytesOf } from './element-types.ts';
import { keepRefusals } from './kernels/keep-refusals.ts';
import { refusalBytes } from './kernels/refusals.ts';
import { lowerElementwise } from './launch-elementwise.ts';
import type { Boundary, PendingCommand, Section } from './lowered-program.ts';
import type { CollectiveMessage, Kernel, Lowering, Refusal } from './lowering.ts';
import { lowerNode } from './operators.ts';
import type { Unit } from './units.ts';

interface Places {
  /** Where a value is; undefined if nothing reads it. */
  readonly at: (value: Value) => GpuAddress | undefined;
  readonly isRead: (value: Value) => boolean;
  /** Offset in the arena of the memory of a running node. */
  readonly scratchFrom: number;
  readonly arena: { readonly slot: number };
  readonly refusalsAt: { readonly slot: number };
  /** Where the cells of the first run that refused a value are kept. */
  readonly keptAt: { readonly slot: number };
  readonly refusals: Refusal[];
  readonly settings: LibrarySettings;
}

/** Collects the commands of units, one after another. */
export class NodeLowering implements Lowering {
  /** Bytes of the arena. */
  end: number;
  readonly #places: Places;
  #scratch: number;
  readonly #sections: Section<PendingCommand>[] = [];
  #commands: PendingCommand[] = [];
  #count = 0;
  /** Number of the first cells that are kept. */
  #kept = 0;
  #isUpdate = false;

  constructor(places: Places) {
    this.#places = places;
    this.#scratch = places.scratchFrom;
    this.end = places.scratchFrom;
  }

  lower({ nodes, isElementwise, groups }: Unit): void {
    this.#scratch = this.#places.scratchFrom;
    if (isElementwise) {
      lowerElementwise(groups, this);
      return;
    }
    for (const node of nodes) lowerNode(node)(node, this);
  }

  /** Ends a section. */
  endSection(boundary: Boundary | undefined): void {
    this.#keepRefusals();
    const refusals = this.#places.refusals.length;
    if (boundary?.kind === 'update') this.#isUpdate = true;
    this.#sections.push({ commands: this.#commands, refusals, boundary });
    this.#commands = [];
  }

  get sections(): readonly Section<PendingCommand>[] {
    return this.#sections;
  }

  exchange(message: CollectiveMessage): void {
    this.endSection({ kind: 'collective', ...message });
  }

  get settings(): LibrarySettings {
    return this.#places.settings;
  }

  at(value: Value): GpuAddress {
    return this.#places.at(value) ?? this.scratch(bytesOf(value.dtype) * sizeOf(value.shape));
  }

  isRead(output: Value): boolean {
    return this.#places.isRead(output);
  }

  scratch(bytes: number): GpuAddress {
    const byteOffset = this.#scratch;
    this.#scratch += aligned(bytes);
    this.end = Math.max(this.end, this.#scratch);
    return { ...this.#places.arena, byteOffset };
  }

  refusal(describe: Refusal['describe']): GpuAddress {
    const { refusals, refusalsAt } = this.#places;
    refusals.push({ describe });
    return { ...refusalsAt, byteOffset: refusalBytes * (refusals.length - 1) };
  }

  guard(): GpuAddress | undefined {
    if (!this.#isUpdate || this.#places.refusals.length === 0) return undefined;
    this.#keepRefusals();
    return this.#places.keptAt;
  }

  #keepRefusals(): void {
    const { refusals, refusalsAt, keptAt } = this.#places;
    if (this.#kept === refusals.length) return;
    this.#kept = refusals.length;
    keepRefusals(this, refusalsAt, keptAt, this.#kept);
  }

  launch(
    kernel: Kernel,
    grid: GpuExtent,
    block: GpuExtent,
    args: readonly GpuArgument[],
    sharedBytes = 0,
  ): void {
    if (grid.includes(0)) return;
    const name = this.#named(kernel.name);
    this.#commands.push({ kind: 'launch', name, kernel, grid, block, sharedBytes, arguments: args });
  }

  add(command: GpuCommand): void {
    if (command.kind === 'launch') throw new Error('A launch is added by launch.');
    this.#commands.push({ ...command, name: this.#named(command.name) });
  }

  #named(name: string): string {
    this.#count += 1;
    return `${name}_${this.#count}`;
  }
}
