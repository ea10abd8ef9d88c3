import type { GpuGroup, PreparesCollectives, ProcessGroup } from '@ringrun/core';

/** The part of a process group that a graph's collectives use. */
export type CollectiveGroup = Pick<ProcessGroup, 'rank' | 'size' | 'allReduce' | 'allGather'> &
  Partial<PreparesCollectives> & { readonly device?: number | undefined } & Partial<
    Pick<GpuGroup, 'runProgram'>
  >;

export interface CollectiveAttributes {
  /** The participating ranks. Graphs that differ only in their groups, of equal sizes, share one program. */
  group: CollectiveGroup;
  /** Sequence number, which orders the collectives of a graph (see `inSequence`). */
  sequence: number;
}

/**
 * Window of a convolution over [N, C, …]. Every list has one number for each axis of the images, such as [height, width]; pads
 * are ONNX's: those before each axis, then those after each axis.
 */
export interface ConvAttributes {
  strides: readonly number[];
  pads: readonly number[];
  dilations: readonly number[];
  group: number;
  /** True if the gradient of the weight is one operator. Default: false. */
  hasWeightGradient?: boolean | undefined;
  /** On a GPU: images are [N, H, W, C], and the weight is [M, kH, kW, C]. Default: false. */
  channelsLast?: boolean | undefined;
}

/** Window of a convolution by Toom-Cook's algorithm. */
export interface ToomCookWindow extends ConvAttributes {
  /** The column of the image that the first tile begins with; negative in the padding. */
  start: number;
}

export interface ToomCookAttributes extends ToomCookWindow {
  /** True if this is the transpose of the convolution that has the window. */
  transposed: boolean;
}

/** Window of a convolution or of its transpose. */
export interface TransposableConvAttributes extends ConvAttributes {
  /** True if this is the transpose of the convolution that has the window. */
  transposed: boolean;
}

/** Window of a pool; lists as in `ConvAttributes`. */
export interface PoolAttributes {
  kernelShape: readonly number[];
  strides: readonly number[];
  pads: readonly number[];
  /** Distances between the elements of a window, for MaxPool. Default: 1. */
  dilations?: readonly number[];
  /** On a GPU: images and results are [N, H, W, C]. Positions are those in [N, C, H, W]. Default: false. */
  channelsLast?: boolean | undefined;
}

/** Reduction of the losses of rows: their mean (weighted, if classes have weights), their sum, or all. */
export type LossReduction = 'mean' | 'sum' | 'none';

export interface SoftmaxCrossEntropyAttributes {
  ignoreIndex: number;
  reduction: LossReduction;
  /** True if there is an input with the weights of the classes, [C]. */
  hasWeight: boolean;
  /** True if there is an input with the label smoothing, a number. */
  smooths: boolean;
}

export interface MatrixProductAttributes {
  /** True if the last two axes of the operand are swapped. */
  transLeft: boolean;
  transRight: boolean;
  /** If true, the products of operands in bfloat16, to which float32 operands are rounded. Sums are float32. */
  inBfloat16: boolean;
  /** If true, the sum of the products over all leading axes. */
  sums: boolean;
  hasBias: boolean;
  /** Computes the outputs from the last inputs and the product, which is numbered after them. Default: the output is the product. */
  program?: ElementwiseProgram | undefined;
}

/** GELU by the error function, or its approximation by the hyperbolic tangent. */
export interface GeluAttributes {
  approximate: 'none' | 'tanh';
}

export interface LayerNormalizeAttributes {
  /** Number of the last axes over which rows are normalized. */
  axes: number;
  epsilon: number;
  /** True if there are inputs with a weight and a bias of these axes. */
  hasWeight: boolean;
  hasBias: boolean;
}

export interface LayerNormalizeGradientAttributes extends LayerNormalizeAttributes {
  /** True if the last input is another gradient of x, which is added. */
  adds: boolean;
}

export interface MaxPoolActivateAttributes {
  /** Rows and columns of a window. */
  kernelShape: readonly number[];
  /** True if there is a bias that is added to the maxima. */
  hasBias: boolean;
  /** True if the result is the relu of the sum. */
  activates: boolean;
}

export interface BatchNormalizeActivateAttributes {
  epsilon: number;
  /** True if there is an input that is added to the normalized x. */
  hasResidual: boolean;
  /** True if the result is the relu of the sum. */
  activates: boolean;
}

/** Which optional inputs are present, in this order. */
export interface BatchNormalizeActivateGradientAttributes {
  epsilon: number;
  hasFlat: boolean;
  hasOther: boolean;
  hasMean: boolean;
  hasVariance: boolean;
}

export interface GatherAttributes {
  /** Row that receives no gradient. */
  paddingRow?: number;
  /** True if the gradient of a row is divided by the number of its look-ups. Default: false. */
  scalesByFrequency?: true;
  /** True if the gradient of the table consists of the rows that are read. Default: false. */
  sparse?: true;
}

/** How the rows of a bag are reduced. */
export type BagMode = 'sum' | 'mean' | 'max';

export interface EmbeddingBagAttributes {
  mode: BagMode;
  paddingRow?: number;
  /** True if there are inputs with the offsets of the bags and the weights of the rows. */
  hasOffsets: boolean;
  hasWeights: boolean;
  /** True if the gradient of the table consists of the rows that are read. Default: false. */
  sparse?: true;
}

/** The function of a step of a recurrent network: `act(x + p)`, LSTM or GRU (native/src/operators/recurrent_cell.h). */
export type RecurrentCell = 'tanh' | 'relu' | 'lstm' | 'gru';

export interface RecurrenceAttributes {
  cell: RecurrentCell;
  /** If true, from the last step to the first. */
  reverse: boolean;
  /** True if there are inputs with the recurrent bias and the lengths of the sequences. */
  hasBias: boolean;
  hasLengths: boolean;
  /** On a GPU: states of float32 are rounded to bfloat16 after each step. Default: false. */
  roundsStates?: boolean;
}

/** Where the rows of an operand of attention, of adjacent elements, are in its array. */
export interface HeadLayout {
  /** Position of the first element. */
  readonly first: number;
  /** Distances of the batch dimensions, then of the rows. */
  readonly strides: readonly number[];
}

/** Places of the operands of attention in arrays of other shapes, such as the output of a layer for all heads. */
export interface AttentionPlaces {
  batch: readonly number[];
  /** Numbers of queries and of keys. */
  lengths: readonly [queries: number, keys: number];
  /** Sizes of a query, and of a value. */
  sizes: readonly [query: number, value: number];
  /** Queries, keys, values. */
  operands: readonly HeadLayout[];
  result: HeadLayout;
  /** The number of the array that the gradient of each operand is written to: equal for parts of one array. */
  targets: readonly number[];
}

export interface AttentionAttributes {
  /** True if query i attends only to keys 0 to i. */
  isCausal: boolean;
  /** True if there are inputs with a mask, and with key, limit and factor of dropout. */
  hasMask: boolean;
  drops: boolean;
  /** Default: queries, keys, values and result are [..., rows, size]. */
  places?: AttentionPlaces;
}

export interface IndexRange {
  /** The smallest index, below 0 if negative ones count from the end. */
  least: number;
  /** Indices are below it. */
  count: number;
  /** An index that may be out of range. Default: none. */
  ignored?: number;
}

export interface ClipNormAttributes {
  /** p of the norm; Infinity: the largest absolute value. */
  normType: number;
  /** If true, the run fails if the norm is NaN or infinite. */
  requiresFinite: boolean;
}

export interface NormPartsAttributes {
  /** p of the norm; Infinity: the largest absolute value. */
  normType: number;
  /** For each array the number of its first part among those of all ranks. */
  parts: readonly number[];
  /** Number of parts of all ranks. */
  total: number;
}

/** Values are numbered: the inputs in their order, then the results of the instructions. */
export interface ElementwiseProgram {
  instructions: readonly { readonly op: ElementwiseOp; readonly operands: readonly number[] }[];
  /** The values that are outputs. */
  results: readonly number[];
}

/**
 * Operators that an elementwise program may contain. `LessOrEqual` is the mask of Relu; `Round` rounds to bfloat16; `TanhGelu` is
 * the approximation of Gelu.
 */
export type ElementwiseOp =
  | ('Add' | 'Sub' | 'Mul' | 'Div' | 'Max' | 'Min')
  | ('Neg' | 'Sqrt' | 'Abs' | 'Relu')
  | ('Gelu' | 'GeluGradient' | 'TanhGelu' | 'TanhGeluGradient')
  | ('Greater' | 'GreaterOrEqual' | 'LessOrEqual' | 'Equal' | 'IsNaN' | 'Or' | 'Where' | 'Round');
