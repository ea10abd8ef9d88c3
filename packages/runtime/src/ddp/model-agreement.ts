import { RingrunError, type ProcessGroup } from '@ringrun/collectives';
import type { DistributedModule, DistributedTensor } from './distributed-module.ts';

/** Ranks whose models differ in a parameter or a buffer: its name, its shape, or whether there is one at all. */
export class ModelMismatchError extends RingrunError {
  constructor(difference: string) {
    super(
      'ERR_MODEL_MISMATCH',
      `DistributedDataParallel: the ranks' models differ. ${difference}. Every rank must build the same model, with parameters and buffers of the ` +
        'same names and shapes in the same order. No model has changed.',
    );
  }
}

/** Names and shapes, in the order of the module. */
export interface ModelOutline {
  parameters: TensorOutline[];
  buffers: TensorOutline[];
}

export interface TensorOutline {
  name: string;
  shape: readonly number[];
}

/**
 * Compares what the ranks' models are made of; a collective (torch: _verify_param_shape_across_processes, which leaves out names).
 *
 * @throws ModelMismatchError on every rank, with the first parameter or buffer that differs, and who has what
 */
export function requireSameModel(group: ProcessGroup, module: DistributedModule): void {
  const difference = firstDifference(group.allGatherObjectSync(outlineOf(module)));
  if (difference !== undefined) throw new ModelMismatchError(difference);
}

/** `Parameter 2: rank 0 has conv2.weight [64,32,3,3], ranks 1, 3 have …`; undefined where all ranks' outlines are equal. */
export function firstDifference(outlines: readonly ModelOutline[]): string | undefined {
  return (
    firstDifferenceAmong(
      'parameter',
      outlines.map(({ parameters }) => parameters),
    ) ??
    firstDifferenceAmong(
      'buffer',
      outlines.map(({ buffers }) => buffers),
    )
  );
}

function firstDifferenceAmong(kind: string, lists: readonly TensorOutline[][]): string | undefined {
  const longest = Math.max(...lists.map(({ length }) => length));
  for (let position = 0; position < longest; position += 1) {
    const sides = ranksBySide(lists.map((list) => describe(kind, list, position)));
    if (sides.size > 1) return `The first that differs is ${kind} ${position}: ${describeSides(sides)}`;
  }
  return undefined;
}

function ranksBySide(descriptions: readonly string[]): Map<string, number[]> {
  const sides = new Map<string, number[]>();
  for (const [rank, side] of descriptions.entries()) sides.set(side, [...(sides.get(side) ?? []), rank]);
  return sides;
}

function describe(kind: string, list: readonly TensorOutline[], position: number): string {
  if (position >= list.length) return `none (${list.length} ${kind}s in all)`;
  const { name, shape } = list[position];
  return `${name} [${shape.join(', ')}]`;
}

function describeSides(sides: ReadonlyMap<string, readonly number[]>): string {
  const told = [...sides].map(([side, ranks]) =>
    ranks.length === 1 ? `rank ${ranks[0]} has ${side}` : `ranks ${ranks.join(', ')} have ${side}`,
  );
  return told.join('; ');
}

function outlineOf(module: DistributedModule): ModelOutline {
  return { parameters: outlinesOf(module.namedParameters()), buffers: outlinesOf(module.namedBuffers()) };
}

function outlinesOf(tensors: Iterable<readonly [string, DistributedTensor]>): TensorOutline[] {
  return Array.from(tensors, ([name, { shape }]) => ({ name, shape: [...shape] }));
}
