import type { GpuArgument } from '@ringrun/native';
import type { DType } from '../../../dtype.ts';
import { NnError } from '../../../errors/errors.ts';
import type { AttentionPlaces } from '../../../graph/attributes.ts';
import { namesOf, placesOf } from '../../../ops/own/attention.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Kernel, Lowering, LoweringFamily } from '../lowering.ts';
import { attentionArguments } from './attention-arguments.ts';
import { attentionThreads } from './attention-parameters.ts';
import { attentionBody, attentionShared, attentionTile } from './attention-source.ts';
import { int32, int64, typedKernels } from './launches.ts';

const names = ['attend', 'sumsOfQueries', 'queryGradient', 'keyGradient'] as const;

/** The kernels for sizes of a query and of a value. @throws NnError (ERR_EXECUTOR) for heads of more than 512 elements */
function kernelsFor([size, valueSize]: AttentionPlaces['sizes'], T: DType) {
  const tile = attentionTile(Math.max(size, valueSize));
  if (tile === undefined) {
    throw new NnError(
      'ERR_EXECUTOR',
      `expected heads of at most 512 elements, got ${size} and ${valueSize}.`,
    );
  }
  const file = `attention-${size}-${valueSize}`;
  return {
    tile,
    shared: attentionShared(tile, size, valueSize),
    kernels: typedKernels(file, ['T'], attentionBody(tile, size, valueSize), names).of({ T }),
  };
}

const usual = [
  [32, 32],
  [64, 64],
  [128, 128],
  [256, 256],
  [512, 512],
] as const;

/** Kernels for usual sizes of heads. */
export const tileKernels: readonly Kernel[] = usual.flatMap((sizes) =>
  (['float32', 'bfloat16'] as const).flatMap((dtype) => Object.values(kernelsFor(sizes, dtype).kernels)),
);

/** Attention by one kernel, and its gradient by three, which keep no scores in memory. */
export const attentionsByTiles: LoweringFamily<'Attention' | 'AttentionGradient'> = {
  Attention: (node, lowering) => {
    const places = placesOf(node);
    const named = namesOf(node.inputs, node.attributes);
    const { tile, shared, kernels } = kernelsFor(places.sizes, named.query.dtype);
    const arrays = [named.query, named.key, named.value, ...node.outputs].map((value) => lowering.at(value));
    const given = attentionArguments(lowering, places, named, node.attributes.isCausal);
    launchTiles(
      lowering,
      kernels.attend,
      places,
      places.lengths[0],
      tile,
      [...arrays, ...given],
      shared.forward,
    );
  },
  AttentionGradient: ({ inputs, outputs, attributes }, lowering) => {
    const { places, isCausal } = attributes;
    const [queries, keys] = places.lengths;
    const named = namesOf(inputs.slice(3), attributes);
    const { tile, shared, kernels } = kernelsFor(places.sizes, named.query.dtype);
    const [gradient, result, statistics] = inputs.slice(0, 3).map((value) => lowering.at(value));
    const operands = [named.query, named.key, named.value].map((value) => lowering.at(value));
    const [toQuery, toKey, toValue] = places.targets.map((target) => outputs[target]);
    const rows = sizeOf(places.batch) * queries;
    const deltas = lowering.scratch(4 * Math.max(1, rows));
    const given = attentionArguments(lowering, places, named, isCausal);
    if (rows > 0) {
      const args = [gradient, result, deltas, given[0], int64(rows)];
      lowering.launch(kernels.sumsOfQueries, [Math.ceil(rows / 4), 1, 1], [128, 1, 1], args);
    }
    const arrays = [gradient, ...operands, statistics, deltas];
    if (lowering.isRead(toQuery)) {
      const args = [...arrays, lowering.at(toQuery), ...given];
      launchTiles(lowering, kernels.queryGradient, places, queries, tile, args, shared.gradient);
    }
    if (lowering.isRead(toKey) || lowering.isRead(toValue)) {
      const args = [...arrays, lowering.at(toKey), lowering.at(toValue), ...given];
      launchTiles(lowering, kernels.keyGradient, places, keys, tile, args, shared.gradient);
    }
  },
};

/** Launches a block for each tile of rows of each head. */
function launchTiles(
  lowering: Lowering,
  kernel: Kernel,
  { batch }: AttentionPlaces,
  rows: number,
  tile: number,
  args: readonly GpuArgument[],
  sharedBytes: number,
): void {
  const tiles = Math.ceil(rows / tile);
  const blocks = sizeOf(batch) * tiles;
  if (blocks === 0) return;
  const threads = [attentionThreads, 1, 1] as const;
  lowering.launch(kernel, [blocks, 1, 1], threads, [...args, int32(tiles)], sharedBytes);
}
