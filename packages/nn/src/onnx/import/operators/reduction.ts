import type { Scalar } from '../../../dtype.ts';
import { sizeOf } from '../../../value-type.ts';
import { truncatedDivide } from '../../../ops/division.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import { asTensor, constantArray, integers } from '../constant-array.ts';
import { axisOf, reduced } from '../folding.ts';
import {
  every,
  flag,
  floating,
  input,
  integral,
  ints,
  known,
  numeric,
  operator,
  optional,
  since,
  until,
  type DTypes,
  type OperatorVersions,
} from '../specification.ts';

/** Reduces at least one axis. */
type Reduce = (x: Tensor, axes: readonly number[], keepdims: boolean) => Tensor;

interface Reduction {
  readonly T?: DTypes;
  /** First opset in which the axes are an input. Default: 18. */
  readonly axesInput?: number;
  /** Applied to each element first. */
  readonly map?: (x: Tensor) => Tensor;
  readonly reduce: Reduce;
  /** Applied to each element if no axis is reduced. Default: the identity. */
  readonly alone?: (x: Tensor) => Tensor;
  /** The result of reducing no elements. */
  readonly ofNone: number;
  readonly fold: (elements: Scalar[]) => Scalar;
}

interface Axes {
  readonly axes: readonly number[] | undefined;
  readonly keepdims: number;
  readonly noop_with_empty_axes: number;
}

function axesOf(call: OperatorCall<Axes>, rank: number): number[] {
  const given = call.attributes.axes ?? call.numbers(1) ?? [];
  if (given.length > 0) return given.map((axis) => axisOf(axis, rank));
  return call.attributes.noop_with_empty_axes ? [] : Array.from({ length: rank }, (_, axis) => axis);
}

function reduction(parts: Reduction): OperatorVersions {
  const { T = numeric, axesInput = 18, fold } = parts;
  return operator({
    types: { T, I: integral },
    inputs: [input('data'), since(axesInput, known(optional('axes', 'I')))],
    attributes: {
      axes: until(axesInput - 1, ints),
      keepdims: flag(1),
      noop_with_empty_axes: since(axesInput, flag(0)),
    },
    wraps: true,
    fold: (call, [x]) => reduced(x, axesOf(call, x.shape.length), call.attributes.keepdims === 1, fold),
    compute: (call) => {
      const x = call.tensor(0);
      return reduceOver(x, axesOf(call, x.shape.length), call.attributes.keepdims === 1, parts);
    },
  });
}

function reduceOver(
  x: Tensor,
  axes: readonly number[],
  keepdims: boolean,
  { map = (one) => one, reduce, alone = (one) => one, ofNone }: Reduction,
): Tensor {
  if (axes.length === 0) return alone(map(x));
  const isOfNone = axes.some((axis) => x.shape[axis] === 0);
  if (!isOfNone || (x.dtype === 'int64' && !Number.isFinite(ofNone))) return reduce(map(x), axes, keepdims);
  const shape = x.shape.flatMap((size, axis) => (axes.includes(axis) ? (keepdims ? [1] : []) : [size]));
  const element = {
    float32: ofNone,
    bfloat16: ofNone,
    int64: BigInt(Number.isFinite(ofNone) ? ofNone : 0),
    bool: Number(ofNone > 0),
  }[x.dtype];
  return asTensor(constantArray(x.dtype, [], [element])).expand(...shape);
}

const isFloat = (x: Tensor) => x.dtype === 'float32';

/** Reduces one axis after another. */
const oneByOne =
  (reduce: (x: Tensor, axis: number) => Tensor): Reduce =>
  (x, axes, keepdims) => {
    const all = axes.reduce(reduce, x);
    return keepdims ? all : all.view(...all.shape.filter((_, axis) => !axes.includes(axis)));
  };

const sum: Reduce = (x, axes, keepdims) => x.sum(axes, keepdims);

const mean: Reduce = (x, axes, keepdims) => {
  if (isFloat(x)) return x.mean(axes, keepdims);
  const count = integers([sizeOf(axes.map((axis) => x.shape[axis]))], []);
  return new Tensor(truncatedDivide(sum(x, axes, keepdims).value, asTensor(count).value));
};

const extreme =
  (isLargest: boolean): Reduce =>
  (x, axes, keepdims) =>
    isLargest ? x.amax(axes, keepdims) : x.amin(axes, keepdims);

const square = (x: Tensor) => x.mul(x);
const absolute = (x: Tensor) => x.abs();

const total = (elements: Scalar[]): Scalar =>
  elements.reduce((a, b) => (typeof a === 'bigint' ? a + BigInt(b) : a + Number(b)), sameKind(elements, 0));
const product = (elements: Scalar[]): Scalar =>
  elements.reduce((a, b) => (typeof a === 'bigint' ? a * BigInt(b) : a * Number(b)), sameKind(elements, 1));
const largest = (elements: Scalar[]): Scalar => elements.reduce((a, b) => (a > b ? a : b));
const smallest = (elements: Scalar[]): Scalar => elements.reduce((a, b) => (a < b ? a : b));

const average = (elements: Scalar[]): Scalar => {
  const sum = total(elements);
  return typeof sum === 'bigint' ? sum / BigInt(elements.length) : sum / elements.length;
};

/** Converts a number to the element type of a value; shapes are integers. */
function sameKind([first = 0n]: Scalar[], number: number): Scalar {
  return typeof first === 'bigint' ? BigInt(number) : number;
}

const extremeTypes = { until19: numeric, since20: every };

function extremes(isLargest: boolean): OperatorVersions {
  const parts = {
    reduce: extreme(isLargest),
    ofNone: isLargest ? -Infinity : Infinity,
    fold: isLargest ? largest : smallest,
  };
  return [
    ...reduction({ ...parts, T: extremeTypes.until19 }),
    ...reduction({ ...parts, T: extremeTypes.since20 }).map((version) => since(20, version)),
  ];
}

/** Reductions over axes. */
export const reductionOperators = {
  ReduceSum: reduction({ axesInput: 13, reduce: sum, ofNone: 0, fold: total }),
  ReduceMean: reduction({ reduce: mean, ofNone: NaN, fold: average }),
  ReduceProd: reduction({ reduce: oneByOne((x, axis) => x.prod(axis, true)), ofNone: 1, fold: product }),
  ReduceMax: extremes(true),
  ReduceMin: extremes(false),
  ReduceL1: reduction({
    map: absolute,
    reduce: sum,
    ofNone: 0,
    fold: (elements) => total(elements.map((one) => (one < 0 ? -one : one))),
  }),
  ReduceL2: reduction({
    T: floating,
    reduce: (x, axes, keepdims) => x.norm(2, axes, keepdims),
    alone: (x) => x.abs(),
    ofNone: 0,
    fold: (elements) => Math.hypot(...elements.map(Number)),
  }),
  ReduceSumSquare: reduction({
    map: square,
    reduce: sum,
    ofNone: 0,
    fold: (elements) => total(elements.map((one) => product([one, one]))),
  }),
  ReduceLogSumExp: reduction({
    T: floating,
    reduce: (x, axes, keepdims) => x.logsumexp(axes, keepdims),
    ofNone: -Infinity,
    fold: (elements) => Math.log(elements.reduce<number>((sum, one) => sum + Math.exp(Number(one)), 0)),
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;
