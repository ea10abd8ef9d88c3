import { InvalidArgumentError, isSameList } from '@ringrun/core';
import { defaultCollate, type Batched, type Collated } from './collate.ts';
import type { BatchMemory } from './dataset.ts';
import { arrayType, type NumericArray } from './numeric-array.ts';
import { describe, isNumericArray, isPlainObject, isShapedArray } from './sample-kinds.ts';
import type { ShapedArray } from './shaped-array.ts';
import { isTensorSample, shapedArrayOf, type TensorSample } from './tensor-sample.ts';

/** The padding value, or one for each padded field of the samples. */
export type PaddingValues = number | Readonly<Record<string, number>>;

/** Sequences of different lengths as one array. */
export interface Padded<Data extends NumericArray = NumericArray> extends Batched<Data> {
  /** 1 for each element of a sequence, and 0 for padding. Shape: number of samples, padded length. */
  mask: Batched<Float32Array>;
}

/** The batch that `padTo` creates: fields with a padding value are padded, and `defaultCollate` creates the others. */
export type PaddedBatch<Sample, Values extends PaddingValues> = Values extends number
  ? PaddedArray<Sample>
  : {
      [Field in keyof Sample]: Field extends keyof Values
        ? PaddedArray<Sample[Field]>
        : Collated<Sample[Field]>;
    };

/** The padded sequences of samples of a type. */
export type PaddedArray<Sample> = Sample extends NumericArray
  ? Padded<Sample>
  : Sample extends ShapedArray<infer Data> | TensorSample<infer Data>
    ? Padded<Data>
    : never;

/**
 * Creates a `collateFn` that pads sequences to the smallest of `lengths` that holds all of a batch. A training step is
 * compiled once for each shape of its inputs, so at most one program is compiled per length:
 *
 *     const collateFn = padTo([32, 64, 128], { tokens: 0, labels: -100 });
 *     for await (const { tokens, labels } of new DataLoader(dataset, { batchSize: 16, collateFn })) …
 *
 * A sequence is a typed array, an array with a shape or a tensor; its first dimension is padded. All fields of a batch
 * have the same length. `mask` distinguishes sequences from padding; labels of -100 are ignored by `crossEntropy`.
 *
 * @param lengths ascending integers of at least 1
 * @param values the padding value if samples are sequences, or the values of the fields to pad. Default: 0.
 * @throws InvalidArgumentError for other arguments; the returned function throws it for a sequence that is longer than
 * all lengths, and for samples that differ in type or in another dimension
 */
export function padTo<const Values extends PaddingValues = number>(
  lengths: readonly number[],
  values: Values = 0 as Values,
): <Sample>(samples: Sample[], memory?: BatchMemory) => PaddedBatch<Sample, Values> {
  requireLengths(lengths);
  requireValues(values);
  const allowed = [...lengths];
  return <Sample>(samples: Sample[], memory: BatchMemory = newMemory) => {
    if (samples.length === 0)
      throw new InvalidArgumentError('padTo: a batch needs at least 1 sample, got 0.');
    const making = { allowed, memory };
    const batch =
      typeof values === 'number' ? padSamples(samples, values, making) : padFields(samples, values, making);
    return batch as PaddedBatch<Sample, Values>;
  };
}

interface Making {
  readonly allowed: readonly number[];
  readonly memory: BatchMemory;
}

const newMemory: BatchMemory = { array: (name, length) => new (arrayType(name))(length) };

function padSamples(samples: readonly unknown[], value: number, making: Making): Padded {
  const sequences = sequencesOf(samples, 'sample');
  return pad(sequences, value, lengthFor([sequences], making), making);
}

function padFields(
  samples: readonly unknown[],
  values: Readonly<Record<string, number>>,
  making: Making,
): Record<string, unknown> {
  const objects = samples.map((sample, index) => {
    if (isPlainObject(sample)) return sample;
    throw new InvalidArgumentError(
      `padTo: expected samples with the fields ${Object.keys(values).join(', ')}, got ${describe(sample)} (sample ${index}). ` +
        'Pass one padding value if samples are arrays.',
    );
  });
  const padded = new Map(
    Object.keys(values).map((field) => [
      field,
      sequencesOf(
        objects.map((object) => object[field]),
        field,
      ),
    ]),
  );
  const length = lengthFor([...padded.values()], making);
  const others = objects.map((object) =>
    Object.fromEntries(Object.entries(object).filter(([field]) => !padded.has(field))),
  );
  const collated = defaultCollate(others, { memory: making.memory }) as Record<string, unknown>;
  const fields = Object.keys(objects[0]).map((field) => {
    const sequences = padded.get(field);
    return [field, sequences ? pad(sequences, values[field], length, making) : collated[field]] as const;
  });
  return Object.fromEntries(fields);
}

interface Sequences {
  readonly name: string;
  readonly arrays: readonly ShapedArray[];
}

/** Sequences of one element type, whose shapes differ in the first dimension only. */
function sequencesOf(values: readonly unknown[], name: string): Sequences {
  const arrays = values.map((value, index) => sequenceOf(value, name, index));
  const [first] = arrays;
  for (const [index, array] of arrays.entries()) {
    const isAlike =
      array.data[Symbol.toStringTag] === first.data[Symbol.toStringTag] &&
      isSameList(array.shape.slice(1), first.shape.slice(1));
    if (isAlike) continue;
    throw new InvalidArgumentError(
      `padTo: ${name}: expected a ${first.data[Symbol.toStringTag]} of shape [${['any', ...first.shape.slice(1)].join()}], as in sample 0 of the batch, ` +
        `got a ${array.data[Symbol.toStringTag]} of shape [${array.shape.join()}] (sample ${index}). Make them alike in the dataset.`,
    );
  }
  return { name, arrays };
}

function sequenceOf(value: unknown, name: string, index: number): ShapedArray {
  if (isNumericArray(value)) return { data: value, shape: [value.length] };
  const array = isTensorSample(value) ? shapedArrayOf(value, name) : isShapedArray(value) ? value : undefined;
  const elements = array?.shape.reduce((product, dimension) => product * dimension, 1);
  if (array && array.shape.length > 0 && array.data.length === elements) return array;
  throw new InvalidArgumentError(
    `padTo: ${name}: expected a typed array, { data, shape } or a tensor of at least 1 dimension, got ${describe(value)} (sample ${index}).`,
  );
}

function lengthFor(fields: readonly Sequences[], { allowed }: Making): number {
  let longest = { length: 0, name: '', index: 0 };
  for (const { name, arrays } of fields) {
    for (const [index, { shape }] of arrays.entries())
      if (shape[0] > longest.length) longest = { length: shape[0], name, index };
  }
  const length = allowed.find((one) => one >= longest.length);
  if (length !== undefined) return length;
  throw new InvalidArgumentError(
    `padTo: ${longest.name}: expected at most ${allowed.at(-1)} elements, got ${longest.length} (sample ${longest.index}). ` +
      'Crop the sequence in the dataset, or add a larger length.',
  );
}

function pad({ name, arrays }: Sequences, value: number, length: number, { memory }: Making): Padded {
  const [{ data: first, shape }] = arrays;
  const type = first[Symbol.toStringTag];
  const rest = shape.slice(1);
  const size = rest.reduce((product, dimension) => product * dimension, 1);
  const data = memory.array(type, arrays.length * length * size);
  const mask = memory.array('Float32Array', arrays.length * length);
  // The array's own elements are written below; TypeScript cannot infer that the type of the value is the array's.
  data.fill(elementOf(value, type, name) as never);
  mask.fill(0);
  for (const [index, array] of arrays.entries()) {
    data.set(array.data as never, index * length * size);
    mask.fill(1, index * length, index * length + array.shape[0]);
  }
  return {
    data,
    shape: [arrays.length, length, ...rest],
    mask: { data: mask, shape: [arrays.length, length] },
  };
}

/** @throws InvalidArgumentError if an array of this type cannot hold the value */
function elementOf(value: number, type: string, name: string): number | bigint {
  const holder = new (arrayType(type as NumericArray[typeof Symbol.toStringTag]))(1);
  const isBig = type.startsWith('Big');
  if (!isBig || Number.isSafeInteger(value)) {
    const element = isBig ? BigInt(value) : value;
    holder.fill(element as never);
    if (type.startsWith('Float') || holder[0] === element) return element;
  }
  throw new InvalidArgumentError(
    `padTo: ${name}: expected a padding value that a ${type} can hold, got ${value}.`,
  );
}

function requireLengths(lengths: readonly number[]): void {
  const isValid =
    Array.isArray(lengths) &&
    lengths.length > 0 &&
    lengths.every(
      (length, index) => Number.isSafeInteger(length) && length > (index === 0 ? 0 : lengths[index - 1]),
    );
  if (isValid) return;
  throw new InvalidArgumentError(
    `padTo: expected lengths as ascending integers of at least 1, such as [32, 64, 128], got ${JSON.stringify(lengths)}.`,
  );
}

function requireValues(values: unknown): void {
  const isNumber = (value: unknown) => typeof value === 'number';
  if (isNumber(values) || (isPlainObject(values) && Object.values(values).every(isNumber))) return;
  throw new InvalidArgumentError(
    `padTo: expected a padding value, or an object with one for each field, got ${describe(values)}.`,
  );
}
