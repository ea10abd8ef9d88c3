import type { ProcessGroup } from 'ringrun';
import type { DType, TensorData } from '../dtype.ts';

type None = Readonly<Record<string, never>>;

/** Where a leaf's elements are when a graph runs. Graphs that differ only in their sources are one program. */
export interface Source {
  readonly data: TensorData;
  /** The array of `data`, for those who only ask which one it is; `data` where it is left out. */
  readonly place?: TensorData;
  /** Resolves when the elements that are on their way to `data` are there; undefined when none are. To be waited for before a graph runs: `data` would block. */
  arrived?(): Promise<void> | undefined;
  /** Whether no elements are on their way to `place`, for printing; true where it is left out. */
  readonly isThere?: boolean;
  /** Who takes this leaf's gradient; a leaf without one is not trained. */
  readonly parameter?: GradientReceiver | undefined;
  /** Whether a caller has the array and may write to it at any time, so that a run reads a copy of what it held when the run was asked for. */
  readonly isCallers?: boolean;
}

/** What a backward pass asks of a parameter. */
export interface GradientReceiver {
  /** What earlier backward passes left, to be added to; undefined when a new gradient begins. */
  readonly grad: Float32Array | undefined;
  /** Gradients of one group are asked for together, and those of a lower group before those of a higher one. */
  readonly gradientBucketIndex: number;
  /** Where the parameter is in a model, as `conv1.weight`, if that is known. */
  readonly path: string | undefined;
  /** The parameter as messages name it: its path, if that is known, and its type. */
  describe(): string;
  /** The array that the backward pass writes. */
  gradientPlace(): Float32Array;
  /** Told when the gradient is in its place. */
  gradientWritten(): void;
  /** Resolves when what happens to the gradients of this backward pass after that, such as averaging over ranks, is done. */
  backwardDone(): Promise<void>;
}

/** What a graph's collectives need of a process group. */
export type CollectiveGroup = Pick<ProcessGroup, 'rank' | 'size' | 'allReduce' | 'allGather'>;

export interface CollectiveAttributes {
  /** Who takes part. Graphs that differ only in their groups are one program. */
  group: CollectiveGroup;
  /** Places the collective among those of its graph: see `inOrderOfTurns`. */
  turn: number;
}

/** Window of a convolution over an NCHW tensor; every list is [height, width], pads are ONNX's [top, left, bottom, right]. */
export interface ConvAttributes {
  strides: readonly [number, number];
  pads: readonly [number, number, number, number];
  dilations: readonly [number, number];
  group: number;
}

export interface PoolAttributes {
  kernelShape: readonly [number, number];
  strides: readonly [number, number];
  pads: readonly [number, number, number, number];
}

/**
 * The vocabulary of graphs: operators by their names in ONNX, with the attributes of each.
 *
 * Every operator has an entry in the table of `ops/index.ts`, which says how it is written in ONNX and what its gradient is.
 */
export interface Operators {
  /** A leaf: an array that is bound when the graph runs (a parameter, a batch, a scalar such as the learning rate). */
  Input: { source: Source };
  /** Numbers that are part of the program: few, and known when the graph is compiled. Default dtype: float32. */
  Constant: { shape: readonly number[]; values: readonly number[]; dtype?: 'int64' };

  /** A float32 number of the caller's, such as the factor of `mul(beta)`. Programs read it as a leaf, so another number is the same program. */
  Number: { value: number };

  /** The same value, through which no gradient flows back (detach, noGrad). */
  Identity: None;
  /** Inputs: a small float32 value with dimensions, and another that is computed before anybody reads it. */
  After: None;

  Add: None;
  Sub: None;
  Mul: None;
  Div: None;
  Neg: None;
  Exp: None;
  Log: None;
  Sqrt: None;
  /** Two outputs: max(x, 0), and where x is 0 or less, so that no gradient passes (bool). */
  Relu: None;
  /** x to a power that is part of the program. */
  Pow: { exponent: number };
  Abs: None;
  /** −1, 0 or 1. */
  Sign: None;
  /** 2/√π · ∫₀ˣ exp(−t²) dt */
  Erf: None;
  Tanh: None;
  /** 1 / (1 + exp(−x)) */
  Sigmoid: None;
  /** log(1 + exp x), without overflow. */
  Softplus: None;
  /** x where it is positive, alpha·x elsewhere. */
  LeakyRelu: { alpha: number };
  /** Larger of two. */
  Max: None;
  /** Smaller of two. */
  Min: None;
  Greater: None;
  GreaterOrEqual: None;
  Equal: None;
  IsNaN: None;
  /** Whether one of two conditions (bool) holds. */
  Or: None;
  /** Inputs: condition (bool), value where it holds, value elsewhere. */
  Where: None;
  Cast: { to: DType };

  Reshape: { shape: readonly number[] };
  Transpose: { perm: readonly number[] };
  /** The first and the last of four axes exchanged. */
  ExchangeEnds: None;
  Concat: { axis: number };
  /** Several outputs: equal parts along an axis. */
  Split: { axis: number; parts: number };
  Slice: { axis: number; start: number; end: number };
  /** Zeros before and after the elements of each axis. */
  Pad: { before: readonly number[]; after: readonly number[] };
  Expand: { shape: readonly number[] };

  ReduceSum: { axes: readonly number[]; keepdims: boolean };
  ReduceMean: { axes: readonly number[]; keepdims: boolean };
  ReduceMax: { axes: readonly number[]; keepdims: boolean };

  /**
   * Outputs: (x − mean) / √(variance + epsilon), the mean, the variance, both over the axes, which stay as 1. ONNX has it for the last axes
   * only (LayerNormalization), so it is written as several nodes.
   */
  Normalize: { axes: readonly number[]; epsilon: number };

  /** Inputs: x [N,C,…], weight [C], bias [C]. Outputs: x normalized over each channel, ·weight + bias; the mean [C]; the variance [C]; x − mean. */
  BatchNormalize: { epsilon: number };
  /** Inputs: x [N,C,…], scale [C], shift [C]; x·scale + shift for each channel. */
  Affine: None;

  /** A·B + C for matrices, with A or B transposed on request; C may be left out. */
  Gemm: { transA: boolean; transB: boolean };
  /** […,M,K] times […,K,N]: matrix products, over leading dimensions that broadcast. */
  MatMul: None;
  /** Inputs: data [N,C,H,W], weight [M,C/group,kH,kW], optional bias [M]. */
  Conv: ConvAttributes;
  /** The transpose of Conv's linear map: inputs [N,M,h,w], weight [M,C/group,kH,kW]. */
  ConvTranspose: ConvAttributes & { outputPadding: readonly [number, number] };
  /** Two outputs: the maxima, and their flat positions (int64) for MaxUnpool. */
  MaxPool: PoolAttributes;
  /**
   * As MaxPool, but NaN is the largest of its window, the last where there are several, and a window that holds −Infinity alone has that maximum, both as in torch;
   * onnxruntime's MaxPool loses either. What programs run in its place; exported models have MaxPool.
   */
  ExactMaxPool: PoolAttributes;
  /** Means of windows; with `countIncludePad` padding counts as elements that are 0. */
  AveragePool: PoolAttributes & { countIncludePad: boolean };
  /** Inputs: values, positions, as from MaxPool; zeros elsewhere. Windows must not overlap. */
  MaxUnpool: { shape: readonly number[] };

  /** The elements at fixed positions along an axis, in their order; one may stand there several times. */
  IndexSelect: { axis: number; positions: readonly number[] };
  /** Inputs: table [V,D], rows (int64); output [...rows,D]. A padding row gets no gradient. */
  Gather: { paddingRow?: number };
  /** Inputs: data, positions (int64); output like the positions: the element of data at the same index but for the axis, there at the position. */
  GatherElements: { axis: number };
  /** Inputs: positions (int64), updates, of one shape; output with `size` along the axis: each update added at its position, in their order. */
  ScatterElements: { axis: number; size: number };

  Softmax: { axis: number };
  LogSoftmax: { axis: number };
  /**
   * Inputs: log-probabilities [N,C], classes [N] (int64). Outputs: the negated mean over the classes that are not `ignoreIndex`; the classes, C where they are ignored; 1 by
   * the number of those that are not.
   */
  NegativeLogLikelihoodLoss: { ignoreIndex: number };
  /** Input: classes [N] (int64); output [N,depth] with `value` at the class and 0 elsewhere. */
  OneHot: { depth: number; value: number };

  /** The sum over the ranks of a group. Not in ONNX, as the next one: programs are cut before and behind collectives. */
  AllReduce: CollectiveAttributes;
  /**
   * Inputs: mean and variance of `count` values on this rank, of one shape; outputs: mean, variance and number [] of the values of all ranks of a group.
   */
  CombineMoments: CollectiveAttributes & { count: number };
}

export type OpName = keyof Operators;

/** Operators in which all ranks of a group take part. */
export type CollectiveOp = 'AllReduce' | 'CombineMoments';
