import { arange, cat, einsum, F, Parameter, stack, tensor, where, type Tensor } from '../../src/index.ts';
import { fill, fillClasses } from './fill.ts';
import { roundedToBfloat16 } from './rounded-to-bfloat16.ts';

/** Shapes of operands; the names of those that stay float32 begin with `wide`. `signed` is below 0 too. */
export const shapes = {
  ...{ x: [4, 6], y: [4, 6], wide: [4, 6], signed: [4, 6], row: [6], wideRow: [6], one: [], wideOne: [] },
  ...{ matrix: [6, 5], wideMatrix: [6, 5], features: [5], images: [2, 4, 6, 6], kernel: [3, 4, 3, 3] },
  ...{ wideKernel: [3, 4, 3, 3], filters: [3], channels: [4], wideChannels: [4], sequence: [2, 4, 6] },
  ...{ table: [6, 4] },
} as const satisfies Record<string, readonly number[]>;

type Names = keyof typeof shapes;

/** Parameters for the operands. Those that may be bfloat16 hold numbers that bfloat16 holds. */
export function parametersOf(): Record<Names, Parameter> {
  const entries = Object.entries(shapes).map(([name, shape], seed) => {
    const numbers = fill(shape, seed).map((one) => (name === 'signed' ? one : 0.1 + 0.4 * (one + 1)));
    const data = name.startsWith('wide') ? numbers : roundedToBfloat16(numbers);
    return [name, new Parameter(data, shape)] as const;
  });
  return Object.fromEntries(entries) as Record<Names, Parameter>;
}

/** Keeps the operands of the names that begin with `wide` in float32. */
export function operandsIn(
  dtype: 'float32' | 'bfloat16',
  parameters: Record<Names, Parameter>,
): Record<Names, Tensor> {
  const entries = Object.entries(parameters).map(
    ([name, one]) => [name, name.startsWith('wide') ? one : one.to(dtype)] as const,
  );
  return Object.fromEntries(entries) as Record<Names, Tensor>;
}

const integers = () => arange(24).view(4, 6);
const classes = () => tensor(fillClasses(4, 6, 3));
const places = () => tensor([0, 5, 2, 3], [4, 1]);

/** The operations of test/golden/bfloat16.py. */
export const operations: Readonly<Record<string, (operands: Record<Names, Tensor>) => Tensor>> = {
  add: ({ x, y }) => x.add(y),
  'add float32': ({ x, wide }) => x.add(wide),
  'sub from float32': ({ x, wide }) => wide.sub(x),
  'mul row': ({ x, row }) => x.mul(row),
  'mul float32 row': ({ x, wideRow }) => x.mul(wideRow),
  'mul number': ({ x }) => x.mul(2.7),
  'mul integer': ({ x }) => x.mul(3),
  'mul int64': ({ x }) => x.mul(integers()),
  'mul scalar tensor': ({ x, wideOne }) => x.mul(wideOne),
  'mul two scalar tensors': ({ one, wideOne }) => one.mul(wideOne),
  'scalar tensor by number': ({ one }) => one.mul(2.7),
  'int64 by scalar tensor': ({ one }) => integers().mul(one),
  'float32 by scalar tensor': ({ one, wide }) => wide.mul(one),
  div: ({ x, y }) => x.div(y),
  'div number': ({ x }) => x.reciprocal(),
  maximum: ({ x, y }) => x.maximum(y),
  'minimum float32': ({ x, wide }) => x.minimum(wide),
  'pow 2': ({ x }) => x.pow(2),
  'pow 3': ({ x }) => x.pow(3),
  'pow -0.5': ({ x }) => x.pow(-0.5),
  remainder: ({ x, y }) => x.remainder(y),
  'fmod number': ({ x }) => x.fmod(0.3),
  floorDivide: ({ x, y }) => x.floorDivide(y),
  greater: ({ x, y }) => x.gt(y),
  'less than number': ({ x }) => x.lt(0.5),
  equal: ({ x, wide }) => x.eq(wide),
  where: ({ x, y }) => where(x.gt(y), x, y),
  'where float32': ({ x, y, wide }) => where(x.gt(y), x, wide),
  'where number': ({ x, y }) => where(x.gt(y), x, 0.3),
  neg: ({ x }) => x.neg(),
  abs: ({ signed }) => signed.abs(),
  sign: ({ signed }) => signed.sign(),
  floor: ({ x }) => x.mul(8).floor(),
  exp: ({ x }) => x.exp(),
  expm1: ({ signed }) => signed.expm1(),
  log: ({ x }) => x.log(),
  log1p: ({ x }) => x.log1p(),
  log2: ({ x }) => x.log2(),
  sqrt: ({ x }) => x.sqrt(),
  rsqrt: ({ x }) => x.rsqrt(),
  reciprocal: ({ x }) => x.reciprocal(),
  sin: ({ x }) => x.sin(),
  atan: ({ x }) => x.atan(),
  tanh: ({ signed }) => signed.tanh(),
  erf: ({ signed }) => signed.erf(),
  sigmoid: ({ signed }) => signed.sigmoid(),
  clamp: ({ x }) => x.clamp(0.2, 0.6),
  lerp: ({ x, y }) => x.lerp(y, 0.3),
  isnan: ({ x }) => x.isnan(),
  relu: ({ signed }) => signed.relu(),
  leakyRelu: ({ signed }) => F.leakyRelu(signed, 0.1),
  gelu: ({ signed }) => F.gelu(signed),
  'gelu tanh': ({ signed }) => F.gelu(signed, { approximate: 'tanh' }),
  silu: ({ signed }) => F.silu(signed),
  mish: ({ signed }) => F.mish(signed),
  elu: ({ signed }) => F.elu(signed),
  softplus: ({ signed }) => F.softplus(signed, { beta: 2 }),
  hardswish: ({ signed }) => F.hardswish(signed),
  glu: ({ signed }) => F.glu(signed),
  sum: ({ x }) => x.sum(),
  'sum of rows': ({ x }) => x.sum([1]),
  mean: ({ x }) => x.mean([0]),
  amax: ({ x }) => x.amax([1]),
  amin: ({ x }) => x.amin(),
  'max along': ({ x }) => x.max(1).values,
  argmax: ({ x }) => x.argmax(1),
  prod: ({ x }) => x.prod(1),
  cumsum: ({ x }) => x.cumsum(1),
  var: ({ x }) => x.var([1]),
  std: ({ x }) => x.std(),
  norm: ({ x }) => x.norm(2, [1]),
  logsumexp: ({ x }) => x.logsumexp([1]),
  topk: ({ x }) => x.topk(2).values,
  softmax: ({ signed }) => signed.softmax(1),
  logSoftmax: ({ signed }) => signed.logSoftmax(1),
  matmul: ({ x, matrix }) => x.matmul(matrix),
  'matmul float32': ({ x, wideMatrix }) => x.matmul(wideMatrix),
  linear: ({ x, matrix, features }) => F.linear(x, matrix.transpose(0, 1), features),
  'linear with float32 weight': ({ x, wideMatrix }) => F.linear(x, wideMatrix.transpose(0, 1)),
  bmm: ({ sequence }) => sequence.bmm(sequence.mT),
  einsum: ({ x, matrix }) => einsum('ij,jk->k', x, matrix),
  outer: ({ row, channels }) => row.outer(channels),
  conv2d: ({ images, kernel, filters }) => F.conv2d(images, kernel, filters, { padding: 1 }),
  'conv2d with float32 weight': ({ images, wideKernel }) => F.conv2d(images, wideKernel),
  convTranspose2d: ({ images, kernel }) =>
    F.convTranspose2d(images, kernel.transpose(0, 1), undefined, { stride: 2 }),
  maxPool2d: ({ images }) => F.maxPool2d(images, 2),
  'maxPool2d that overlaps': ({ images }) => F.maxPool2d(images, 3, { stride: 2, padding: 1 }),
  avgPool2d: ({ images }) => F.avgPool2d(images, 2),
  adaptiveAvgPool2d: ({ images }) => F.adaptiveAvgPool2d(images, 4),
  interpolate: ({ images }) => F.interpolate(images, { scaleFactor: 2, mode: 'bilinear' }),
  batchNorm: ({ images, channels }) =>
    F.batchNorm(images, undefined, undefined, channels, channels, { training: true }),
  'batchNorm with float32 weight': ({ images, wideChannels: one }) =>
    F.batchNorm(images, undefined, undefined, one, one, { training: true }),
  layerNorm: ({ x, row }) => F.layerNorm(x, [6], row, row),
  'layerNorm with float32 weight': ({ x, wideRow }) => F.layerNorm(x, [6], wideRow, wideRow),
  groupNorm: ({ images, channels }) => F.groupNorm(images, 2, channels, channels),
  rmsNorm: ({ x, row }) => F.rmsNorm(x, [6], row),
  mseLoss: ({ x, y }) => F.mseLoss(x, y),
  'mseLoss float32': ({ x, wide }) => F.mseLoss(x, wide),
  l1Loss: ({ x, y }) => F.l1Loss(x, y, { reduction: 'none' }),
  smoothL1Loss: ({ x, y }) => F.smoothL1Loss(x, y),
  binaryCrossEntropyWithLogits: ({ signed, y }) => F.binaryCrossEntropyWithLogits(signed, y),
  klDiv: ({ x, y }) => F.klDiv(x, y, { reduction: 'sum' }),
  crossEntropy: ({ signed }) => F.crossEntropy(signed, classes()),
  'crossEntropy smoothed': ({ signed }) => F.crossEntropy(signed, classes(), { labelSmoothing: 0.1 }),
  'crossEntropy of probabilities': ({ signed, y }) => F.crossEntropy(signed, y),
  nllLoss: ({ signed }) => F.nllLoss(signed, classes()),
  cosineSimilarity: ({ x, y }) => F.cosineSimilarity(x, y),
  normalize: ({ x }) => F.normalize(x),
  attention: ({ sequence: one }) => F.scaledDotProductAttention(one, one, one, { isCausal: true }),
  embedding: ({ table }) => F.embedding(classes(), table),
  gather: ({ x }) => x.gather(1, places()),
  indexSelect: ({ x }) => x.indexSelect(1, tensor([5, 0, 0])),
  scatter: ({ x, y }) => x.scatter(1, places(), y),
  scatterAdd: ({ x, y }) => x.scatterAdd(1, places(), y),
  at: ({ x }) => x.at([1, 3], tensor([0, 5])),
  maskedFill: ({ x, y }) => x.maskedFill(x.gt(y), 0.3),
  view: ({ x }) => x.view(6, 4),
  permute: ({ images }) => images.permute(3, 1, 0, 2),
  expand: ({ row }) => row.expand(3, 6),
  cat: ({ x, y }) => cat([x, y], 1),
  'cat float32': ({ x, wide }) => cat([x, wide], 1),
  stack: ({ x, y }) => stack([x, y]),
  split: ({ x }) => x.split(3, 1)[1],
  flip: ({ x }) => x.flip(1),
  roll: ({ x }) => x.roll(2, 1),
  pad: ({ x }) => F.pad(x, [1, 2], { value: 0.3 }),
  tril: ({ x }) => x.tril(),
  diagonal: ({ x }) => x.diagonal(),
  unfold: ({ x }) => x.unfold(1, 3, 2),
  repeat: ({ x }) => x.repeat(2, 1),
  long: ({ x }) => x.mul(8).long(),
  float: ({ x }) => x.float(),
};
