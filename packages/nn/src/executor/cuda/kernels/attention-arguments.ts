import type { GpuArgument } from '@ringrun/native';
import type { AttentionPlaces, HeadLayout } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import { stridesOfMask, type AttentionInputs } from '../../../ops/own/attention.ts';
import type { Lowering } from '../lowering.ts';
import { attentionBatchAxes } from './attention-scores-source.ts';
import { addressOf, int32 } from './launches.ts';

/** The struct Heads, and the parameters of the struct Weights. */
export function attentionArguments(
  lowering: Lowering,
  places: AttentionPlaces,
  { scale, mask, dropout }: AttentionInputs,
  isCausal: boolean,
): readonly GpuArgument[] {
  const [added, allowed] = (['float32', 'bool'] as const).map((dtype) =>
    addressOf(lowering, mask?.dtype === dtype ? mask : undefined),
  );
  const [numbers, factor] = [dropout?.[0], dropout?.[1]].map((value) => addressOf(lowering, value));
  return [
    headsOf(places, mask),
    lowering.at(scale),
    added,
    allowed,
    numbers,
    factor,
    int32(Number(isCausal)),
  ];
}

function headsOf(
  { batch, lengths, operands, result }: AttentionPlaces,
  mask: Value | undefined,
): GpuArgument {
  const padded = (numbers: readonly number[]) =>
    Array.from({ length: attentionBatchAxes }, (_, axis) => numbers[axis] ?? 0);
  const [queryStride, keyStride, ...ofBatch] = mask
    ? stridesOfMask(mask, [...batch, ...lengths])
    : [0, 0, ...batch.map(() => 0)];
  const layoutOf = ({ first, strides }: HeadLayout) => [
    first,
    strides.at(-1)!,
    ...padded(strides.slice(0, -1)),
  ];
  const numbers = [
    ...lengths,
    batch.length,
    ...padded(batch),
    ...[keyStride, queryStride, ...padded(ofBatch)],
    ...[...operands, result].flatMap(layoutOf),
  ];
  return { bytes: new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer) };
}
