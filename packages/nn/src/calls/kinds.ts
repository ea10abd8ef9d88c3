import { dtypes, isDType } from '../checks/require-dtype.ts';
import { TensorMethods } from '../tensor/tensor-methods.ts';

/** What an argument may be, for its message. */
export interface Kind {
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
}

const isNumber = (value: unknown) => typeof value === 'number';
const isTensor = (value: unknown) => value instanceof TensorMethods;
const isScalar = (value: unknown) =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
const areNumbers = (value: unknown) => Array.isArray(value) && value.every(isNumber);

const kinds = {
  tensor: { expected: 'a tensor', accepts: isTensor },
  operand: {
    expected: 'a tensor, a number, a bigint or a boolean',
    accepts: (value) => isTensor(value) || isScalar(value),
  },
  scalar: { expected: 'a number, a bigint or a boolean', accepts: isScalar },
  number: { expected: 'a number', accepts: isNumber },
  boolean: { expected: 'true or false', accepts: (value) => typeof value === 'boolean' },
  text: { expected: 'a text', accepts: (value) => typeof value === 'string' },
  sizes: {
    expected: 'a number or a list of numbers',
    accepts: (value) => isNumber(value) || areNumbers(value),
  },
  list: { expected: 'a list of numbers', accepts: areNumbers },
  dtype: { expected: dtypes, accepts: isDType },
} satisfies Record<string, Kind>;

/** Names of arguments that mean the same in all functions. */
const names: Readonly<Record<keyof typeof kinds, string>> = {
  tensor:
    'input input1 input2 target weight bias x1 x2 anchor positive negative query key logProbs theta grid tensor var posWeight offsets perSampleWeights attnMask logits index mask condition vec vec2 mat2 mat1 batch1 batch2 covarianceMatrix precisionMatrix scaleTril',
  operand: 'other exponent src min max',
  scalar: 'fillValue',
  number:
    'p eps alpha beta negativeSlope lambd minVal maxVal threshold tau margin delta labelSmoothing ignoreIndex momentum dropoutP blank numClasses groups numGroups upscaleFactor downscaleFactor k inChannels outChannels inFeatures outFeatures in1Features in2Features numEmbeddings embeddingDim numFeatures numChannels embedDim numHeads dModel nhead numLayers numEncoderLayers numDecoderLayers dimFeedforward layerNormEps inputSize hiddenSize numParameters init startDim endDim dim0 dim1 dim2 count length start step rtol atol repeats shift splitCount chunks base nan posinf neginf n diagonal offset repeats chunks correction dropout lr lrDecay rho numSamples reinterpretedBatchNdims totalCount cacheSize eventDim',
  boolean:
    'keepdim training inplace ceilMode countIncludePad alignCorners affine trackRunningStats batchFirst bidirectional normFirst zeroInfinity logTarget logInput full swap hard isCausal enableGqa includeLastOffset elementwiseAffine largest sorted descending replacement validateArgs',
  text: 'reduction approximate paddingMode nonlinearity',
  sizes: 'stride dilation kernelSize normalizedShape splitSize shifts dims',
  list: 'sizes',
  dtype: 'dtype',
};

const kindOfName = new Map(
  Object.entries(names).flatMap(([kind, list]) =>
    list.split(' ').map((name) => [name, kinds[kind as keyof typeof kinds] as Kind]),
  ),
);

/** Arguments of some functions whose names mean something else there. */
const exceptions: Readonly<Partial<Record<string, keyof typeof kinds>>> = {
  'F.pad value': 'scalar',
  'full size': 'list',
  'normal size': 'list',
  'randint size': 'list',
  'F.threshold value': 'number',
  'F.scaledDotProductAttention value': 'tensor',
  'x.select index': 'number',
  'x.lerp weight': 'operand',
  'x.lerp end': 'tensor',
  'x.maskedFill value': 'scalar',
  'where input': 'operand',
  'arange start': 'scalar',
  'arange end': 'scalar',
  'arange step': 'scalar',
  'linspace steps': 'number',
  'linspace end': 'number',
  'logspace steps': 'number',
  'logspace end': 'number',
  'eye m': 'number',
  'normal mean': 'number',
  'normal std': 'number',
  'randint low': 'number',
  'randint high': 'number',
  'x.logicalAnd other': 'tensor',
  'x.logicalOr other': 'tensor',
  'x.logicalXor other': 'tensor',
  'x.viewAs other': 'tensor',
  'x.reshapeAs other': 'tensor',
  'x.expandAs other': 'tensor',
  'x.matmul other': 'tensor',
  'x.dot other': 'tensor',
  'x.dist other': 'tensor',
  'x.isclose other': 'tensor',
  'x.logaddexp other': 'tensor',
  'distributions.MultivariateNormal loc': 'tensor',
  'nn.Threshold value': 'number',
  'nn.ConstantPad1d value': 'number',
  'nn.ConstantPad2d value': 'number',
  'nn.ConstantPad3d value': 'number',
};

/** Methods whose `dim` may be a list. */
const overSeveral: ReadonlySet<string> = new Set(
  'sum mean amax amin logsumexp nansum nanmean all any countNonzero norm squeeze'
    .split(' ')
    .map((name) => `x.${name}`),
);

/** Parameters of distributions. */
const parameters: ReadonlySet<string> = new Set(
  'loc scale low high rate probs logits df concentration concentration1 concentration0'.split(' '),
);

/** The kind of an argument; undefined if the function checks it. */
export function kindOf(key: string, name: string): Kind | undefined {
  // The functions of nn.init say which tensors they fill.
  if (key.startsWith('nn.init.') && name === 'tensor') return undefined;
  if ((key === 'x.norm' && name === 'p') || ((key === 'x.var' || key === 'x.std') && name === 'dim'))
    return undefined;
  const exception = exceptions[`${key} ${name}`];
  if (exception !== undefined) return kinds[exception];
  if (key.startsWith('distributions.') && parameters.has(name)) return kinds.operand;
  if (key.startsWith('nn.') && name === 'bias') return kinds.boolean;
  if (name === 'dim') return overSeveral.has(key) ? kinds.sizes : kinds.number;
  return kindOfName.get(name);
}
