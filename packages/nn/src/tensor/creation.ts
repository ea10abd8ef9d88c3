import { newArray, type DType, type Scalar, type TensorData } from '../dtype.ts';
import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { sizedOf, type Sized } from '../calls/sizes.ts';
import type { OptionNames } from '../checks/require-options.ts';
import { ArgumentError } from '../errors/errors.ts';
import { asNumber } from './tensor-methods.ts';
import type { Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import { add, cast, div, equal, mul } from '../ops/elementwise.ts';
import { expand, reshape } from '../ops/shape.ts';
import { asElement, isInt64 } from '../scalar.ts';
import { Tensor } from './tensor.ts';
import { constant, input, int64Constant } from '../ops/source.ts';

/** Options of functions that create tensors. */
export interface CreationOptions {
  /** Element type. Default: 'float32'. */
  dtype?: DType;
}

const creationOptions: OptionNames<CreationOptions> = { dtype: true };

/** A tensor filled with zeros (torch.zeros): `zeros(2, 3)` or `zeros([2, 3])`. */
export function zeros(...given: Sized<CreationOptions>): Tensor {
  const { shape, options } = sizedOf<CreationOptions>('zeros', given, creationOptions);
  return filledWith('zeros', shape, 0, options);
}

/** A tensor filled with ones (torch.ones): `ones(2, 3)` or `ones([2, 3])`. */
export function ones(...given: Sized<CreationOptions>): Tensor {
  const { shape, options } = sizedOf<CreationOptions>('ones', given, creationOptions);
  return filledWith('ones', shape, 1, options);
}

/** A tensor of zeros: memory of JavaScript is never uninitialized (torch.empty). */
export function empty(...given: Sized<CreationOptions>): Tensor {
  const { shape, options } = sizedOf<CreationOptions>('empty', given, creationOptions);
  return filledWith('empty', shape, 0, options);
}

/**
 * A tensor filled with one number (torch.full). Unlike in torch, the default dtype is float32 for every number; a boolean gives
 * bool. For int64, the number is truncated; a bigint is exact.
 *
 * @throws ArgumentError for int64, if the number is NaN or out of range
 */
export function full(
  ...given: Call<
    [size: readonly number[], fillValue: Scalar | boolean, options?: CreationOptions | undefined],
    'full'
  >
): Tensor {
  const [shape, value, { dtype = typeof value === 'boolean' ? 'bool' : 'float32' }] = arranged('full', given);
  return filledWith('full', shape, asNumber(value), { dtype });
}

function filledWith(
  name: string,
  shape: readonly number[],
  value: Scalar,
  { dtype = 'float32' }: CreationOptions,
): Tensor {
  requireShape(name, shape);
  const element = asElement(value, dtype);
  if (isTracingSizes()) return new Tensor(repeated(shape, element, dtype));
  const array = newArray(dtype, sizeOf(shape));
  if (array instanceof BigInt64Array) array.fill(BigInt(element));
  else array.fill(Number(element));
  return tensorOf(dtype, shape, array);
}

/** Zeros with the shape and dtype of another tensor (torch.zeros_like). */
export function zerosLike(
  ...given: Call<[input: Tensor, options?: CreationOptions | undefined], 'zerosLike'>
): Tensor {
  const [{ shape, dtype }, options] = arranged('zerosLike', given);
  return filledWith('zerosLike', shape, 0, { dtype, ...options });
}

/** Ones with the shape and dtype of another tensor (torch.ones_like). */
export function onesLike(
  ...given: Call<[input: Tensor, options?: CreationOptions | undefined], 'onesLike'>
): Tensor {
  const [{ shape, dtype }, options] = arranged('onesLike', given);
  return filledWith('onesLike', shape, 1, { dtype, ...options });
}

/** Zeros with the shape and dtype of another tensor (torch.empty_like). */
export function emptyLike(
  ...given: Call<[input: Tensor, options?: CreationOptions | undefined], 'emptyLike'>
): Tensor {
  const [{ shape, dtype }, options] = arranged('emptyLike', given);
  return filledWith('emptyLike', shape, 0, { dtype, ...options });
}

/** A tensor filled with one number, with the shape and dtype of another tensor (torch.full_like). */
export function fullLike(
  ...given: Call<
    [input: Tensor, fillValue: Scalar | boolean, options?: CreationOptions | undefined],
    'fullLike'
  >
): Tensor {
  const [{ shape, dtype }, value, options] = arranged('fullLike', given);
  return filledWith('fullLike', shape, asNumber(value), { dtype, ...options });
}

/**
 * The numbers from `start` to `end` (exclusive) in steps (torch.arange): `arange(3)` is 0, 1, 2. Integers are exact, including
 * bigints. The dtype is int64 if all numbers are integers, else float32, as in torch.
 */
export function arange(end: Scalar, options?: CreationOptions): Tensor;
/** The numbers from `start` to `end` (exclusive) in steps of 1, or of `step`. */
export function arange(start: Scalar, end: Scalar, options?: CreationOptions): Tensor;
/** The numbers from `start` to `end` (exclusive) in steps. */
export function arange(start: Scalar, end?: Scalar, step?: Scalar, options?: CreationOptions): Tensor;
/** The same with arguments by name. */
export function arange(options: CreationOptions & { start?: Scalar; end: Scalar; step?: Scalar }): Tensor;
export function arange(...given: readonly unknown[]): Tensor {
  const isEndAlone = typeof given[0] !== 'object' && (typeof given[1] === 'object' || given[1] === undefined);
  const numbers = isEndAlone
    ? [0, given[0], given[2], given[1], given[3]].filter(isGiven)
    : given.filter(isGiven);
  const [start, end, step, options] = arranged(
    'arange',
    numbers as [Scalar | undefined, Scalar, Scalar?, CreationOptions?],
  );
  return range([start ?? 0, end, step ?? 1], options);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function range(given: readonly Scalar[], options: CreationOptions): Tensor {
  if (given.every(isInt64)) return integerRange(given.map(BigInt), options);
  const [from, to, by] = given.map(Number);
  if (![from, to, by].every(Number.isFinite) || by === 0 || (to - from) / by < 0) {
    throw new ArgumentError(
      `arange: expected numbers from start to end in the direction of the step, got ${from}, ${to} and ${by}.`,
    );
  }
  const { dtype = 'float32' } = options;
  // As in torch, which converts start and step first.
  const [first, stride] = dtype === 'int64' ? [Math.trunc(from), Math.trunc(by)] : [from, by];
  return filled(dtype, [Math.ceil((to - from) / by)], (i) => first + i * stride);
}

function integerRange([from, to, step]: readonly bigint[], { dtype = 'int64' }: CreationOptions): Tensor {
  if (step === 0n || (to - from) * step < 0n) {
    throw new ArgumentError(
      `arange: expected numbers from start to end in the direction of the step, got ${from}, ${to} and ${step}.`,
    );
  }
  const rest = (to - from) % step;
  const count = (to - from) / step + (rest === 0n ? 0n : 1n);
  return filled(dtype, [Number(count)], (i) => from + BigInt(i) * step);
}

/** `steps` evenly spaced numbers from `start` to `end` (torch.linspace). */
export function linspace(
  ...given: Call<
    [start: number, end: number, steps: number, options?: CreationOptions | undefined],
    'linspace'
  >
): Tensor {
  const [start, end, steps, { dtype = 'float32' }] = arranged('linspace', given);
  return spaced(start, end, steps).to(dtype);
}

function spaced(start: number, end: number, steps: number): Tensor {
  if (!Number.isInteger(steps) || steps < 0) {
    throw new ArgumentError(`linspace: expected a whole number of steps, got ${steps}.`);
  }
  if (isTracingSizes()) {
    const step = div(constant(end - start), constant(Math.max(steps - 1, 1)));
    return new Tensor(add(mul(cast(indices(steps), 'float32'), step), constant(start)));
  }
  const step = steps > 1 ? (end - start) / (steps - 1) : 0;
  // Computed from both ends, so that the last number is `end`.
  return filled('float32', [steps], (i) => (i < steps / 2 ? start + i * step : end - (steps - 1 - i) * step));
}

/** `steps` powers of `base` with evenly spaced exponents (torch.logspace). Default of `base`: 10. */
export function logspace(
  ...given: Call<
    [
      start: number,
      end: number,
      steps: number,
      base?: number | undefined,
      options?: CreationOptions | undefined,
    ],
    'logspace'
  >
): Tensor {
  const [start, end, steps, base = 10, { dtype = 'float32' }] = arranged('logspace', given);
  return powersOf(base, spaced(start, end, steps)).to(dtype);
}

function powersOf(base: number, spacing: Tensor): Tensor {
  const exponents = spacing.elements() as Float32Array;
  const steps = exponents.length;
  return filled('float32', [steps], (i) => base ** exponents[i]);
}

/** A matrix with ones on the diagonal (torch.eye). Default: square. */
export function eye(
  ...given: Call<[n: number, m?: number | undefined, options?: CreationOptions | undefined], 'eye'>
): Tensor {
  const [rows, columns = rows, { dtype = 'float32' }] = arranged('eye', given);
  requireShape('eye', [rows, columns]);
  if (isTracingSizes()) {
    return new Tensor(cast(equal(reshape(indices(rows), [rows, 1]), indices(columns)), dtype));
  }
  const isOne = (i: number) => Math.floor(i / columns) === i % columns;
  return filled(dtype, [rows, columns], (i) => Number(isOne(i)));
}

/** Fills by an operation from one element: an array would be a different constant for each size. */
function repeated(shape: readonly number[], element: Scalar, dtype: DType): Value {
  const scalar = dtype === 'int64' ? int64Constant([], [element]) : cast(constant(Number(element)), dtype);
  return expand(scalar, shape);
}

/** 0, 1, … as an operand of an operation, for the same reason. */
function indices(count: number): Value {
  return int64Constant([count], [...Array(count).keys()]);
}

function filled(dtype: DType, shape: readonly number[], element: (index: number) => Scalar): Tensor {
  const array = newArray(dtype, sizeOf(shape));
  for (let i = 0; i < array.length; i += 1) {
    const one = asElement(element(i), dtype);
    if (array instanceof BigInt64Array) array[i] = BigInt(one);
    else array[i] = Number(one);
  }
  return tensorOf(dtype, shape, array);
}

/** A tensor with its own array. */
export function tensorOf(dtype: DType, shape: readonly number[], data: TensorData): Tensor {
  return new Tensor(input(dtype, shape, { data }));
}

export function requireShape(where: string, shape: readonly number[]): void {
  if (shape.every((size) => Number.isInteger(size) && size >= 0)) return;
  throw new ArgumentError(`${where}: expected whole lengths of at least 0, got [${shape.join()}].`);
}
