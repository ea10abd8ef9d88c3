import { InvalidArgumentError } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import type { Batched } from '../collate.ts';
import type { BatchMemory } from '../dataset.ts';
import type { Random } from '../random.ts';
import type { BatchTransform, CutMix, MixedBatch, MixUp } from './mix.ts';

/** Columns [left, right) and rows [top, bottom). */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

/** The random numbers of a batch: the share of each image, and for CutMix the box that is replaced. */
export interface Mixing {
  lambda: number;
  box: Box | undefined;
}

/**
 * Mixes a batch `{ image, label }` of `defaultCollate`. Its images are changed in place; `memory` holds the new labels.
 *
 * @throws InvalidArgumentError for other batches, and labels that are not classes
 */
export function transformBatch(
  transform: BatchTransform,
  batch: unknown,
  random: Random,
  memory?: BatchMemory,
): MixedBatch {
  const chosen = transform.kind === 'RandomChoice' ? choice(transform, random) : transform;
  const { image, label, rest } = requireImages(chosen, batch);
  const mixing = mixingOf(chosen, image.shape, random);
  const labels = mixedLabels(chosen, label.data, mixing.lambda, memory);
  mixImages(image, mixing);
  return { ...rest, image, label: { data: labels, shape: [label.data.length, chosen.numClasses] } };
}

function choice(
  { transforms, p }: { transforms: readonly (MixUp | CutMix)[]; p: readonly number[] },
  random: Random,
) {
  let rest = random.uniform(0, 1);
  const index = p.findIndex((share) => (rest -= share) < 0);
  return transforms.at(index)!;
}

/** Draws the random numbers of a batch, as torchvision: lambda, and for CutMix the center of a box of the share 1 - lambda. */
export function mixingOf({ kind, alpha }: MixUp | CutMix, shape: readonly number[], random: Random): Mixing {
  const lambda = random.beta(alpha);
  if (kind === 'MixUp') return { lambda, box: undefined };
  const [height, width] = shape.slice(-2);
  const [x, y] = [random.below(width), random.below(height)];
  const half = (length: number) => Math.floor(0.5 * Math.sqrt(1 - lambda) * length);
  const box = [
    Math.max(x - half(width), 0),
    Math.max(y - half(height), 0),
    Math.min(x + half(width), width),
    Math.min(y + half(height), height),
  ] as const;
  return { lambda: 1 - ((box[2] - box[0]) * (box[3] - box[1])) / (width * height), box };
}

/** Mixes images in place. */
export function mixImages({ data, shape }: Batched<Float32Array>, { lambda, box }: Mixing): void {
  const [count, channels, height, width] = shape;
  if (box) loadNative().cutMixImages(data, [channels, height, width], box);
  else loadNative().mixUpImages(data, count, lambda);
}

/** Class probabilities, [n, numClasses], computed in float32 as by torch. */
export function mixedLabels(
  { kind, numClasses }: MixUp | CutMix,
  labels: BigInt64Array,
  lambda: number,
  memory?: BatchMemory,
): Float32Array {
  const odd = labels.find((label) => label < 0n || label >= BigInt(numClasses));
  if (odd !== undefined)
    throw new InvalidArgumentError(
      `${kind}: expected labels from 0 to ${numClasses - 1}, got ${odd}. Pass the data set's number of classes as numClasses.`,
    );
  const count = labels.length * numClasses;
  const mixed = memory?.array('Float32Array', count) ?? new Float32Array(count);
  mixed.fill(0);
  for (const [position, label] of labels.entries()) {
    const before = labels.at(position - 1)!;
    mixed[position * numClasses + Number(label)] = lambda;
    const own = position * numClasses + Number(before);
    mixed[own] = Math.fround(1 - lambda) + mixed[own];
  }
  return mixed;
}

interface ImageBatch {
  image: Batched<Float32Array>;
  label: Batched<BigInt64Array>;
  rest: object;
}

function requireImages({ kind }: MixUp | CutMix, batch: unknown): ImageBatch {
  const { image, label, ...rest } = (batch ?? {}) as Partial<Record<'image' | 'label', Partial<Batched>>>;
  const isImages = image?.data instanceof Float32Array && image.shape?.length === 4;
  const isLabels = label?.data instanceof BigInt64Array && label.shape?.length === 1;
  if (isImages && isLabels) return { image, label, rest } as ImageBatch;
  const fields = typeof batch === 'object' && batch !== null ? Object.keys(batch).join(', ') : typeof batch;
  const problem = image && label ? `of shapes [${image.shape?.join()}] and [${label.shape?.join()}]` : fields;
  throw new InvalidArgumentError(
    `${kind}: expected a batch with float32 images \`image\` [n, channels, height, width] and int64 classes \`label\` [n], got ${problem}. ` +
      'Return samples { image: { data, shape }, label } from the dataset, with a bigint as label.',
  );
}
