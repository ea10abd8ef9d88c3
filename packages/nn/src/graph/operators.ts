import type { DType, Scalar } from '../dtype.ts';
import type {
  AttentionAttributes,
  AttentionPlaces,
  BatchNormalizeActivateAttributes,
  BatchNormalizeActivateGradientAttributes,
  ClipNormAttributes,
  CollectiveAttributes,
  ConvAttributes,
  ElementwiseProgram,
  EmbeddingBagAttributes,
  GatherAttributes,
  GeluAttributes,
  IndexRange,
  LayerNormalizeAttributes,
  MatrixProductAttributes,
  LayerNormalizeGradientAttributes,
  MaxPoolActivateAttributes,
  NormPartsAttributes,
  PoolAttributes,
  RecurrenceAttributes,
  SoftmaxCrossEntropyAttributes,
  TransposableConvAttributes,
  ToomCookAttributes,
  ToomCookWindow,
} from './attributes.ts';
import type { GradientTarget, UntypedGradient } from './gradient-target.ts';
import type { Source } from './source.ts';

type None = Readonly<Record<string, never>>;

/**
 * The operators of graphs by their ONNX names, with their attributes. `ops/index.ts` has the ONNX form and the gradient
 * of each.
 */
export interface Operators {
  /** A leaf: an array that is bound when the graph runs, such as a parameter, a batch, or the learning rate. */
  Input: { source: Source };
  /** A few numbers that are part of the compiled program. Default dtype: float32. */
  Constant: { shape: readonly number[]; values: readonly Scalar[]; dtype?: 'int64' | 'bool' };
  /** A float32 or int64 number of the caller, such as the factor of `mul(beta)`: a leaf, so that others reuse the program. */
  Number: { value: Scalar };

  /** Returns its input and blocks the gradient (detach, noGrad). */
  Identity: None;
  /** Returns its input: a leaf of automatic differentiation, whose gradient `receiver` gets. */
  Variable: { receiver?: GradientTarget };
  /**
   * Inputs: the outputs of a function without their gradients, then the function's inputs. Outputs: its outputs, whose gradients
   * `rule` turns into those of its inputs (autograd.Function).
   */
  CustomFunction: { rule: UntypedGradient };
  /** Inputs: a loss, then pairs of a leaf and its gradient. Returns the loss, which has these gradients. */
  GivenGradients: None;
  /** Inputs: a value, x and a slope. Returns the value; the gradient of x is the value's times the slope. */
  AddSlope: None;
  /** Inputs: a value that is not a scalar, and a value that must be computed before the output is read. */
  AddDependency: None;
  /** Returns its input: the boundary of a part whose values are computed again in the backward pass (`checkpoint`). */
  Checkpoint: { side: 'input' | 'output' };

  Add: None;
  Sub: None;
  Mul: None;
  Div: None;
  Neg: None;
  Exp: None;
  Log: None;
  Sqrt: None;
  /** Two outputs: max(x, 0), and the mask x ≤ 0 (bool), where the gradient is 0. */
  Relu: None;
  /** x to a power that is part of the compiled program. */
  Pow: { exponent: number };
  /** Inputs: base and exponent, both with gradients; their shapes broadcast. ONNX's Pow. */
  Power: None;
  Abs: None;
  /** −1, 0 or 1. */
  Sign: None;
  Floor: None;
  Ceil: None;
  /** Rounds to the nearest integer, ties to even. */
  Round: None;
  Sin: None;
  Cos: None;
  Tan: None;
  Asin: None;
  Acos: None;
  Atan: None;
  Sinh: None;
  Cosh: None;
  Asinh: None;
  Acosh: None;
  Atanh: None;
  /** Remainder of a division of floats with the sign of the dividend (C's fmod). */
  Mod: None;
  /** Quotient of two int64 values without its fraction. The divisor must be neither 0 nor −1. */
  IntegerDiv: None;
  /** 2/√π · ∫₀ˣ exp(−t²) dt */
  Erf: None;
  Tanh: None;
  /** 1 / (1 + exp(−x)) */
  Sigmoid: None;
  /** log(1 + exp x), without overflow. */
  Softplus: None;
  /** x where it is positive, alpha·x elsewhere. */
  LeakyRelu: { alpha: number };
  /** Elementwise maximum. */
  Max: None;
  /** Elementwise minimum. */
  Min: None;
  Greater: None;
  GreaterOrEqual: None;
  Equal: None;
  IsNaN: None;
  /** Logical or of two conditions (bool). */
  Or: None;
  /** Logical and of two conditions (bool). */
  And: None;
  /** Negated condition (bool). */
  Not: None;
  /** Inputs: condition (bool), value where it is true, value where it is false. */
  Where: None;
  Cast: { to: DType };

  Reshape: { shape: readonly number[] };
  Transpose: { perm: readonly number[] };
  /** Swaps the first and the last of four axes. */
  SwapOuterAxes: None;
  Concat: { axis: number };
  /** Several outputs: parts along an axis. `sizes`: along the axis. Default: equal. */
  Split: { axis: number; parts: number; sizes?: readonly number[] };
  /** `given`: the bounds as in Python, which are valid for other sizes too. Only in exported models. */
  Slice: {
    axis: number;
    start: number;
    end: number;
    given?: { readonly start: number; readonly end: number; readonly step?: number };
  };
  /** The elements along an axis in reverse order. */
  Flip: { axis: number };
  /** A number before and after the elements of each axis. Default: 0. */
  Pad: { before: readonly number[]; after: readonly number[]; value?: Scalar };
  Expand: { shape: readonly number[] };
  /** The matrices of the last two axes with zeros below (`upper`) or above diagonal `k`; 0 is the main diagonal, 1 the one above it. */
  Trilu: { upper: boolean; k: number };

  ReduceSum: { axes: readonly number[]; keepdims: boolean };
  ReduceMean: { axes: readonly number[]; keepdims: boolean };
  ReduceMax: { axes: readonly number[]; keepdims: boolean };
  /** Sums of the elements up to each along an axis; with `reverse`, from each to the last. */
  CumSum: { axis: number; reverse: boolean };
  /** The position (int64) of the first of the largest or smallest elements along an axis, which stays as 1. */
  ArgMax: { axis: number };
  ArgMin: { axis: number };
  /** Outputs: the `k` largest or smallest elements along an axis, in order; their positions (int64). */
  TopK: { axis: number; k: number; largest: boolean };

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
  /** Inputs: data [N,C,H,W], weight [M,C/group,kH,kW], optional bias [M]; or images of one or three axes. */
  Conv: ConvAttributes;
  /** The transpose of Conv's linear map: inputs [N,M,h,w], weight [M,C/group,kH,kW], optional bias [C]. */
  ConvTranspose: ConvAttributes & { outputPadding: readonly number[] };
  /** Only in programs for GPUs. Inputs: images, gradient of Conv's output. Output: gradient of the weight. */
  ConvWeightGradient: ConvAttributes;
  /** For GPUs, of BatchNormalize's gradient: d and x [rows, C], means [C] → sums over rows of d and of d·(x − mean), float32[C]. */
  BatchNormalizeSums: None;
  /** Two outputs: the maxima, and their flat positions (int64) for MaxUnpool. */
  MaxPool: PoolAttributes;
  /**
   * MaxPool with torch's results for NaN (the last NaN of a window wins) and for windows of −Infinity, which onnxruntime's
   * MaxPool gets wrong. Replaces MaxPool in compiled programs; exported models have MaxPool.
   */
  ExactMaxPool: PoolAttributes;
  /** Means of windows. With `countIncludePad`, padding counts as zeros. */
  AveragePool: PoolAttributes & { countIncludePad: boolean };
  /** Inputs: values and positions from MaxPool; all other elements are 0. Windows must not overlap. */
  MaxUnpool: { shape: readonly number[]; channelsLast?: boolean };

  /** The elements at fixed positions along an axis, in order. Positions may repeat. */
  IndexSelect: { axis: number; positions: readonly number[] };
  /** Inputs: table [V,D], rows (int64); output [...rows,D]. A padding row receives no gradient. */
  Gather: GatherAttributes;
  /** Inputs: data, positions (int64). Output: shape of the positions, each replaced by data's element at that position along the axis. */
  GatherElements: { axis: number };
  /** Inputs: positions (int64) and updates of one shape. Output: `size` along the axis, each update added at its position, in order. */
  ScatterElements: { axis: number; size: number };

  /** Inputs: data, positions (int64) and updates of one shape. Output: data with each update written at its position along the axis. */
  Scatter: { axis: number };

  Softmax: { axis: number };
  /** Softmax over the last axis; 0 for a row that is all −∞, where Softmax is NaN. */
  SafeSoftmax: None;
  LogSoftmax: { axis: number };
  /**
   * Inputs: log-probabilities [N,C], classes [N] (int64). Outputs: the negated mean over classes other than `ignoreIndex`;
   * the classes, with C for ignored ones; 1 / number of classes that are not ignored.
   */
  NegativeLogLikelihoodLoss: { ignoreIndex: number };
  /** Input: classes [N] (int64). Output: [N,depth] with `value` at the class and 0 elsewhere. */
  OneHot: { depth: number; value: number };

  /** An operator of the addon. Returns its input (int64). A run fails if an index is out of range; `expected` begins its error. */
  CheckIndices: IndexRange & { expected: string };

  /** An operator of the addon. Returns its input. A run fails if an element is not from 0 to 1; `expected` begins its error. */
  CheckProbabilities: { expected: string };

  /**
   * An operator of the addon. Inputs: rows (int64), updates [...rows,D]. Output: [count,D], the sums of the updates of each
   * row, in order, and 0 in the padding row.
   */
  AddRows: { count: number; paddingRow?: number };

  /**
   * An operator of the addon. Inputs: rows (int64; -1: none); updates [M,D]; if `hasPlaces`, for each row the number of its update
   * (int64), and its factor. Output: packed rows of a table [count,D] for `capacity` rows, the sums of their updates, in order.
   */
  SparseRows: { count: number; capacity: number; hasPlaces: boolean };
  /** An operator of the addon. Input: packed rows of a table [count,width]. Output: their values [capacity,width], then 0. */
  SparseRowValues: { count: number; width: number };
  /** An operator of the addon. Inputs: packed rows; values [capacity,width] in place of theirs, optional. Output: [count,width]. */
  DenseRows: { count: number; width: number };
  /**
   * Operators of the addon: an optimizer's update of the rows of a table. Inputs: table [V,D], packed rows, states [V,D], numbers;
   * values [capacity,D] in place of those of the packed rows, optional. Outputs: table and states, in place.
   */
  SgdOfRows: { hasValues: boolean };
  AdagradOfRows: { hasValues: boolean };
  AdamOfRows: { hasValues: boolean };
  /**
   * An operator of the addon. Inputs: the largest norm ([]), arrays. Outputs ([]): the norm of all arrays together, and the
   * factor that scales each of them to the largest norm, at most 1.
   */
  ClipNorm: ClipNormAttributes;

  /** An operator of the addon. Inputs: arrays. Output: the results of parts of a norm, [2·total], 0 for other ranks' parts. */
  NormParts: NormPartsAttributes;

  /** An operator of the addon. Inputs: the largest norm, all ranks' outputs of NormParts. Outputs: those of ClipNorm. */
  ClipNormOfParts: ClipNormAttributes;

  /**
   * An operator of the addon. Inputs: log-probabilities [T,N,C], targets (int64), lengths of inputs and targets [N] (int64).
   * Outputs: losses [N]; the gradient of each loss, [T,N,C].
   */
  CtcLoss: { blank: number; zeroInfinity: boolean };

  /**
   * An operator of the addon. Inputs: images with their batch innermost [W,C,H,N], weight [M,C,kH,kW], the three transforms of
   * Toom-Cook's algorithm. Output: [oW,M,oH,N].
   */
  ToomCookConvolve: ToomCookAttributes;
  /** Inputs: images, gradient of ToomCookConvolve's output, the transforms. Output: gradient of the weight. */
  ToomCookWeightGradient: ToomCookWindow;
  /** As ToomCookConvolve, with tiles along both axes. Inputs 3 to 5 are the transforms of the height, 6 to 8 those of the width. */
  ToomCookConvolve2d: TransposableConvAttributes;
  ToomCookWeightGradient2d: ConvAttributes;

  /** An operator of the addon. Inputs: bfloat16 images with their batch innermost [W,C,H,N], weight [M,C,kH,kW]. Output: [oW,M,oH,N]. */
  DirectConvolve: TransposableConvAttributes;
  /** Inputs: images, gradient of DirectConvolve's output. Output: gradient of the weight. */
  DirectWeightGradient: ConvAttributes;

  /** An operator of the addon. Inputs: gradient of MaxPool's maxima, their positions (int64). Output: gradient of its input. */
  MaxPoolGradient: { window?: PoolAttributes };

  /**
   * An operator of the addon, only in compiled programs. Inputs: images with the batch innermost, [W,C,H,N], which the windows
   * tile; the optional bias [C]. Outputs: [w,C,h,N]; the places of the maxima in their windows, packed (int64).
   */
  MaxPoolActivate: MaxPoolActivateAttributes;
  /** Inputs: gradient of the result, places. Outputs: gradients of the images and the bias. */
  MaxPoolActivateGradient: MaxPoolActivateAttributes;

  /** An operator of the addon. Inputs: x, key and limit of the mask [2] (int64), the scale, a number. Output: x with the mask. */
  Dropout: None;

  /**
   * An operator of the addon. Inputs: logits [N,C], classes [N] (int64), the optional weights and smoothing.
   * Outputs: the loss; two numbers of each row, [N,2], and the sum of the weights of the rows, for the gradient.
   */
  SoftmaxCrossEntropy: SoftmaxCrossEntropyAttributes;
  /** Inputs: gradient of the loss, logits, classes, the last two outputs of SoftmaxCrossEntropy, its other inputs. Output: [N,C]. */
  SoftmaxCrossEntropyGradient: SoftmaxCrossEntropyAttributes;
  /** An operator of the addon, only in compiled programs: the sum of bfloat16 […, N] over all axes but the last, float32 [N]. */
  SumRows: None;
  /** An operator of the addon: x·Φ(x), Φ the standard normal distribution. */
  Gelu: GeluAttributes;
  /** Inputs: gradient of the result, x. Output: gradient of x. */
  GeluGradient: GeluAttributes;
  /**
   * An operator of the addon, only in compiled programs. Inputs: […,M,K] and […,K,N], whose leading axes broadcast; optionally a
   * bias [N]; the inputs of the program but the product. Outputs: those of the program, or the product […,M,N].
   */
  MatrixProduct: MatrixProductAttributes;
  /**
   * An operator of the addon. Inputs: x, optional weight and bias. Outputs: the result; two numbers of each row, [rows,2]; in
   * compiled programs, the result in bfloat16.
   */
  LayerNormalize: LayerNormalizeAttributes;
  /**
   * An operator of the addon, only in compiled programs: LayerNormalize of a sum. Inputs: a; b, of the shape of a or of its last
   * axes; optional weight and bias. Outputs: the result; two numbers of each row; the result in bfloat16; the sum.
   */
  AddLayerNormalize: LayerNormalizeAttributes;
  /**
   * Inputs: gradient of the result, x, the numbers of the rows, the optional weight, another gradient of x. Outputs: gradients
   * of x, weight and bias; in compiled programs, the gradient of x in bfloat16.
   */
  LayerNormalizeGradient: LayerNormalizeGradientAttributes;
  /**
   * An operator of the addon, only in compiled programs. Inputs: x [N,C,…], weight [C], bias [C], the optional residual.
   * Outputs: the result; mean and variance of x [C]; flags where the result is at most 0 before the relu, [C,F] (int64).
   */
  BatchNormalizeActivate: BatchNormalizeActivateAttributes;
  /**
   * Inputs: gradient of the result, x, mean, variance, weight; optionally the flags of a flat result, another gradient of the
   * result, the gradients of mean and variance. Outputs: gradients of x, weight, bias and residual.
   */
  BatchNormalizeActivateGradient: BatchNormalizeActivateGradientAttributes;

  /**
   * An operator of the addon: softmax(scale·Q·Kᵀ + mask)·V without an array of all weights. Inputs: queries, keys, values, the
   * scale ([]); the optional mask; key and limit of the mask of dropout [2] (int64) and its factor. Outputs: the result; two
   * numbers of each query, [heads,2,queries], for the gradient.
   */
  Attention: AttentionAttributes;
  /**
   * Inputs: gradient of the result, the outputs of Attention, its inputs. Outputs: the gradients of queries, keys and values, one
   * array for those that are parts of one array.
   */
  AttentionGradient: AttentionAttributes & { places: AttentionPlaces };

  /**
   * An operator of the addon. Inputs: table [V,D], rows (int64): [T] with the offsets of bags [B], or [B,L]; these offsets; the
   * weights of the rows, of their shape. Outputs: sums, means or maxima [B,D] of the rows of each bag without the padding row;
   * in max mode, the row index of each maximum (int64).
   */
  EmbeddingBag: EmbeddingBagAttributes;
  /**
   * An operator of the addon. Inputs: rows, offsets and weights of EmbeddingBag. Outputs: for each row, it (-1: padding), its bag
   * (int64), and the factor of its gradient. `count`: rows of the table.
   */
  BagPlaces: EmbeddingBagAttributes & { count: number };
  /** Inputs: gradient of the bags, rows, table, the other inputs of EmbeddingBag and its second output. Outputs: gradients of table and weights. */
  EmbeddingBagGradient: EmbeddingBagAttributes;

  /**
   * An operator of the addon: all steps of a recurrent network in one direction, with G gates of H elements. Inputs: gates of
   * the input [L,N,G·H], recurrent weights [G·H,H], the first state [N,H]; the first cell [N,H] for lstm; the recurrent bias
   * [G·H] and the lengths [N] (int64), both optional. Outputs: states [L,N,H], 0 after a length; the last state [N,H]; the
   * last cell [N,H] for lstm; for lstm and gru two arrays for the gradient, [L,N,G·H] and [L,N,H].
   */
  Recurrence: RecurrenceAttributes;
  /**
   * Inputs: states, recurrent weights, the first state; for lstm the first cell; the lengths; for lstm and gru the two arrays of
   * Recurrence; those gradients of states, last state and last cell that `given` has. Outputs: the gradient of the gates of the
   * input; that of the products of states and weights (differs only for gru); the states before each step [L,N,H]; the
   * gradients of the first state and of the first cell.
   */
  RecurrenceGradient: RecurrenceAttributes & { given: readonly [boolean, boolean, boolean] };

  /**
   * Several elementwise operators in one, computed in one pass over memory. Replaces them in compiled programs. Inputs:
   * conditions (bool), then float32 arrays, of equal size or of one element. Outputs: `results`, conditions first.
   */
  Elementwise: ElementwiseProgram;

  /** The sum over the ranks of a group. Not an ONNX operator: a running graph calls it. */
  AllReduce: CollectiveAttributes;
  /** The values of all ranks of a group, [size, …]. Only in updates, which have no gradient. Not an ONNX operator. */
  AllGather: CollectiveAttributes;
  /**
   * Inputs: mean and variance of `count` values on this rank, of one shape. Outputs: mean, variance and number ([]) of the
   * values of all ranks of a group. Not an ONNX operator.
   */
  CombineStatistics: CollectiveAttributes & { count: number };
}

export type OpName = keyof Operators;

/** Operators that run on all ranks of a group. */
export type CollectiveOp = 'AllReduce' | 'AllGather' | 'CombineStatistics';
