import { InvalidArgumentError, isSameList, requireOptions, typedArrayClass } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { BatchMemory } from './dataset.ts';
import type { NumberDType } from './number-dtype.ts';
import { arrayType } from './numeric-array.ts';
import type { ArrayTypeName, NumericArray } from './numeric-array.ts';
import {
  describe,
  isBigint,
  isList,
  isNumber,
  isNumericArray,
  isPlainObject,
  isShapedArray,
  isString,
  type Fields,
} from './sample-kinds.ts';
import type { ShapedArray } from './shaped-array.ts';
import { isTensorSample, shapedArrayOf, type TensorSample } from './tensor-sample.ts';

export type { NumericArray } from './numeric-array.ts';

/** One array for a whole batch. */
export interface Batched<Data extends NumericArray = NumericArray> {
  /** The samples' elements one after the other, each in row-major order. */
  data: Data;
  /** Number of samples, then the shape of one. */
  shape: number[];
}

/** The batch that `defaultCollate` creates from samples of a type. */
export type Collated<Sample> = Sample extends number
  ? Batched<BigInt64Array | Float64Array>
  : Sample extends bigint
    ? Batched<BigInt64Array>
    : Sample extends string
      ? string[]
      : Sample extends NumericArray
        ? Batched<Sample>
        : Sample extends ShapedArray<infer Data>
          ? Batched<Data>
          : Sample extends TensorSample<infer Data>
            ? Batched<Data>
            : { [Field in keyof Sample]: Collated<Sample[Field]> };

/** Options of {@link defaultCollate}. */
export interface DefaultCollateOptions {
  /**
   * Whether the batch owns the samples: if their arrays are views of one array, it is used without a copy. Default:
   * false.
   */
  adopt?: boolean;
  /** Memory for the batch's arrays. Default: new memory. */
  memory?: BatchMemory | undefined;
  /**
   * Element types of fields of the samples that are numbers, bigints or booleans. Default: int64 if all values of the batch
   * are safe integers, otherwise float64.
   */
  dtypes?: Readonly<Record<string, NumberDType>> | undefined;
}

const optionNames: OptionNames<DefaultCollateOptions> = { adopt: true, memory: true, dtypes: true };

/**
 * Creates one batch from samples of one type (torch.utils.data.default_collate). From n samples:
 *
 * - bigints, and numbers that are all safe integers, such as labels: a BigInt64Array of shape [n]
 * - other numbers: a Float64Array of shape [n]
 * - typed arrays of one type and length: an array of shape [n, length]
 * - typed arrays with a shape, `{ data, shape }`, and tensors such as `tensor(…)` of @ringrun/nn: an array of shape
 *   [n, ...shape]
 * - strings: a list
 * - objects, tuples and lists: one in which each field is collated
 *
 * Fields of objects that are numbers have the element type that `dtypes` names for them.
 *
 * The batch has its own memory, allocated in `memory` if given.
 *
 * @throws InvalidArgumentError that names the field, for samples of other types or of different types or shapes
 */
export function defaultCollate<Sample>(
  samples: readonly Sample[],
  options: DefaultCollateOptions = {},
): Collated<Sample> {
  requireOptions('defaultCollate', options, optionNames);
  const { adopt = false, memory = newMemory, dtypes } = options;
  if (samples.length === 0)
    throw new InvalidArgumentError('defaultCollate: a batch needs at least 1 sample, got 0.');
  return collate(samples, wholeSample, { adopt, memory, dtypes }) as Collated<Sample>;
}

const newMemory: BatchMemory = { array: (name, length) => new (arrayType(name))(length) };

type Making = Required<DefaultCollateOptions> & { memory: BatchMemory };

/** The path of a sample in errors. */
const wholeSample = 'sample';

function collate(samples: readonly unknown[], path: string, making: Making): unknown {
  const first = samples[0];
  if (typeof first === 'number') return collateNumbers(all(samples, isNumber, path), making);
  if (typeof first === 'bigint') return collateBigints(all(samples, isBigint, path), making);
  if (typeof first === 'string') return all(samples, isString, path);
  if (isNumericArray(first)) return stack(all(samples, isNumericArray, path), [first.length], path, making);
  if (isTensorSample(first)) return collateTensors(all(samples, isTensorSample, path), path, making);
  if (isShapedArray(first)) return collateShapedArrays(all(samples, isShapedArray, path), path, making);
  if (Array.isArray(first)) return collateLists(all(samples, isList, path), path, making);
  if (isPlainObject(first)) return collateFields(all(samples, isPlainObject, path), path, making);
  throw new InvalidArgumentError(
    `DataLoader: ${path} is ${describe(first)}, which cannot be collated; ` +
      'return numbers, strings, typed arrays or objects of these, or pass DataLoader a `collateFn`.',
  );
}

/** torch chooses by the type of the first number; JavaScript has one type for both. */
function collateNumbers(numbers: readonly number[], making: Making): Batched<BigInt64Array | Float64Array> {
  if (numbers.every(Number.isSafeInteger)) return collateBigints(numbers.map(BigInt), making);
  const { memory } = making;
  const data = memory.array('Float64Array', numbers.length);
  data.set(numbers);
  return { data, shape: [numbers.length] };
}

function collateBigints(numbers: readonly bigint[], { memory }: Making): Batched<BigInt64Array> {
  const data = memory.array('BigInt64Array', numbers.length);
  data.set(numbers);
  return { data, shape: [numbers.length] };
}

/** A value that a number of any element type may come from. */
const isScalar = (value: unknown) => ['number', 'bigint', 'boolean'].includes(typeof value);

function collateScalars(
  values: readonly unknown[],
  dtype: NumberDType,
  path: string,
  { memory }: Making,
): Batched {
  const odd = values.findIndex((value) => !isScalar(value));
  if (odd >= 0) throw notAlike(path, describe(values[0]), odd, describe(values[odd]));
  const name = typedArrayClass[dtype].name as ArrayTypeName;
  const data = memory.array(name, values.length) as NumericArray;
  for (const [index, value] of values.entries()) {
    const number = Number(value);
    if (dtype.startsWith('int') && !isInteger(value, dtype))
      throw new InvalidArgumentError(
        `DataLoader: ${path} is declared as ${dtype}, and is ${String(value)} in sample ${index} of a batch. Declare it as float32, or correct the value.`,
      );
    data[index] = dtype === 'int64' ? (typeof value === 'bigint' ? value : BigInt(number)) : number;
  }
  return { data, shape: [values.length] };
}

function isInteger(value: unknown, dtype: NumberDType): boolean {
  if (dtype === 'int64' && typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  const number = Number(value);
  return dtype === 'int64' ? Number.isSafeInteger(number) : (number | 0) === number;
}

function collateTensors(tensors: readonly TensorSample[], path: string, making: Making): Batched {
  return collateShapedArrays(
    tensors.map((tensor) => shapedArrayOf(tensor, path)),
    path,
    making,
  );
}

function collateShapedArrays(arrays: readonly ShapedArray[], path: string, making: Making): Batched {
  const shape = arrays[0].shape;
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  for (const [index, array] of arrays.entries()) {
    if (array.data.length !== size || !isSameList(array.shape, shape)) {
      throw notAlike(path, `an array of shape [${shape.join()}]`, index, describe(array));
    }
  }
  return stack(
    arrays.map((array) => array.data),
    shape,
    path,
    making,
  );
}

function stack(
  arrays: readonly NumericArray[],
  shape: readonly number[],
  path: string,
  { adopt, memory }: Making,
): Batched {
  const { [Symbol.toStringTag]: type, length } = arrays[0];
  const whole = adopt ? wholeOf(arrays) : undefined;
  if (whole) return { data: whole, shape: [arrays.length, ...shape] };
  const stacked = memory.array(type, arrays.length * length);
  for (const [index, array] of arrays.entries()) {
    if (array.length !== length || array[Symbol.toStringTag] !== type) {
      throw notAlike(path, `a ${type} of ${length} elements`, index, describe(array));
    }
    // The types are equal, which TypeScript cannot infer: numbers and bigints have separate signatures.
    stacked.set(array as never, index * length);
  }
  return { data: stacked, shape: [arrays.length, ...shape] };
}

/** The array that these views cover completely and in order; undefined if they do not. */
function wholeOf(arrays: readonly NumericArray[]): NumericArray | undefined {
  const { buffer, [Symbol.toStringTag]: type, length, byteLength } = arrays[0];
  const isPart = (array: NumericArray, index: number) =>
    array.buffer === buffer &&
    array[Symbol.toStringTag] === type &&
    array.length === length &&
    array.byteOffset === index * byteLength;
  if (buffer.byteLength !== arrays.length * byteLength || !arrays.every(isPart)) return undefined;
  return new (arrayType(type))(buffer as ArrayBuffer);
}

function collateLists(lists: readonly (readonly unknown[])[], path: string, making: Making): unknown[] {
  const length = lists[0].length;
  for (const [index, list] of lists.entries()) {
    if (list.length !== length) throw notAlike(path, `a list of ${length}`, index, describe(list));
  }
  return Array.from({ length }, (_, field) =>
    collate(
      lists.map((list) => list[field]),
      `${path}[${field}]`,
      making,
    ),
  );
}

function collateFields(objects: readonly Fields[], path: string, making: Making): Fields {
  const collateField = (field: string): [string, unknown] => {
    const values = objects.map((object) => object[field]);
    const own = `${path}.${field}`;
    const dtype = path === wholeSample ? making.dtypes?.[field] : undefined;
    if (dtype !== undefined && isScalar(values[0]))
      return [field, collateScalars(values, dtype, own, making)];
    return [field, collate(values, own, making)];
  };
  return Object.fromEntries(Object.keys(objects[0]).map(collateField));
}

/** Checks that all samples have the type of the first one, and returns them. */
function all<Kind>(
  samples: readonly unknown[],
  is: (sample: unknown) => sample is Kind,
  path: string,
): Kind[] {
  const odd = samples.findIndex((sample) => !is(sample));
  if (odd >= 0) throw notAlike(path, describe(samples[0]), odd, describe(samples[odd]));
  return samples as Kind[];
}

function notAlike(path: string, expected: string, index: number, got: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `DataLoader: ${path} is ${expected} in the batch's first sample and ${got} in sample ${index} of the same batch; ` +
      'samples of one batch must be alike. Make them alike in the dataset, or pass DataLoader a `collateFn`.',
  );
}
