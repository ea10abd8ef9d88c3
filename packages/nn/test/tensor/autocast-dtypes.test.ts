import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  autocast,
  cat,
  cdist,
  einsum,
  F,
  nn,
  randLike,
  randnLike,
  stack,
  tensor,
  type DType,
  type Tensor,
} from '../../src/index.ts';
import { sizeOf } from '../../src/value-type.ts';

// The calls of test/golden/autocast.py, under the same names.

interface Golden {
  readonly torch: string;
  readonly results: Readonly<Record<string, Readonly<Record<'float32' | 'bfloat16', DType>>>>;
}
const { torch, results } = JSON.parse(
  readFileSync(new URL('../../../../test/golden/autocast.json', import.meta.url), 'utf8'),
) as Golden;

const f = (...shape: number[]): Tensor => {
  const count = sizeOf(shape);
  return tensor(
    Float32Array.from({ length: count }, (_, i) => 0.1 + (0.8 * i) / Math.max(1, count - 1)),
    shape,
  );
};
const b = (...shape: number[]): Tensor => f(...shape).bfloat16();

type Make = (...shape: number[]) => Tensor;

const classes = tensor(BigInt64Array.of(1n, 0n));

function callsWith(t: Make): Record<string, () => Tensor> {
  const sign = tensor(Float32Array.of(1, -1)).to(t(1).dtype);
  return {
    linear: () => F.linear(t(2, 3), f(4, 3), f(4)),
    matmul: () => t(2, 3).matmul(t(3, 2)),
    mm: () => t(2, 3).mm(t(3, 2)),
    bmm: () => t(2, 2, 3).bmm(t(2, 3, 2)),
    mv: () => t(2, 3).mv(t(3)),
    dot: () => t(3).dot(t(3)),
    outer: () => t(3).outer(t(3)),
    addmm: () => t(2, 2).addmm(t(2, 3), t(3, 2)),
    baddbmm: () => t(2, 2, 2).baddbmm(t(2, 2, 3), t(2, 3, 2)),
    einsum: () => einsum('ij,jk->ik', t(2, 3), t(3, 2)),
    bilinear: () => F.bilinear(t(2, 3), t(2, 3), t(4, 3, 3), t(4)),
    conv1d: () => F.conv1d(t(1, 2, 4), f(3, 2, 2)),
    conv2d: () => F.conv2d(t(1, 2, 4, 4), f(3, 2, 2, 2)),
    conv3d: () => F.conv3d(t(1, 2, 4, 4, 4), f(3, 2, 2, 2, 2)),
    convTranspose1d: () => F.convTranspose1d(t(1, 2, 4), f(2, 3, 2)),
    convTranspose2d: () => F.convTranspose2d(t(1, 2, 4, 4), f(2, 3, 2, 2)),
    convTranspose3d: () => F.convTranspose3d(t(1, 2, 4, 4, 4), f(2, 3, 2, 2, 2)),
    scaledDotProductAttention: () => F.scaledDotProductAttention(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
    prelu: () => F.prelu(t(2, 3), f(3)),
    relu: () => F.relu(t(2, 3)),
    leakyRelu: () => F.leakyRelu(t(2, 3)),
    gelu: () => F.gelu(t(2, 3)),
    silu: () => F.silu(t(2, 3)),
    glu: () => F.glu(t(2, 4)),
    sigmoid: () => F.sigmoid(t(2, 3)),
    tanh: () => F.tanh(t(2, 3)),
    softmax: () => F.softmax(t(2, 3), 1),
    softmin: () => F.softmin(t(2, 3), 1),
    logSoftmax: () => F.logSoftmax(t(2, 3), 1),
    celu: () => F.celu(t(2, 3)),
    elu: () => F.elu(t(2, 3)),
    selu: () => F.selu(t(2, 3)),
    hardshrink: () => F.hardshrink(t(2, 3)),
    hardsigmoid: () => F.hardsigmoid(t(2, 3)),
    hardswish: () => F.hardswish(t(2, 3)),
    hardtanh: () => F.hardtanh(t(2, 3)),
    logsigmoid: () => F.logsigmoid(t(2, 3)),
    mish: () => F.mish(t(2, 3)),
    relu6: () => F.relu6(t(2, 3)),
    softplus: () => F.softplus(t(2, 3)),
    softshrink: () => F.softshrink(t(2, 3)),
    softsign: () => F.softsign(t(2, 3)),
    tanhshrink: () => F.tanhshrink(t(2, 3)),
    threshold: () => F.threshold(t(2, 3), 0.5, 0.1),
    batchNorm: () => F.batchNorm(t(2, 3, 4), undefined, undefined, f(3), f(3), { training: true }),
    layerNorm: () => F.layerNorm(t(2, 3), [3], f(3), f(3)),
    rmsNorm: () => F.rmsNorm(t(2, 3), [3], f(3)),
    groupNorm: () => F.groupNorm(t(2, 4, 3), 2, f(4), f(4)),
    instanceNorm: () => F.instanceNorm(t(2, 3, 4)),
    localResponseNorm: () => F.localResponseNorm(t(1, 3, 4), 2),
    normalize: () => F.normalize(t(2, 3)),
    dropout: () => F.dropout(t(2, 3), 0.5),
    embedding: () => F.embedding(classes, f(3, 4)),
    embeddingBag: () => F.embeddingBag(classes.view(1, 2), f(3, 4)),
    maxPool1d: () => F.maxPool1d(t(1, 2, 4), 2),
    maxPool2d: () => F.maxPool2d(t(1, 2, 4, 4), 2),
    maxPool3d: () => F.maxPool3d(t(1, 2, 4, 4, 4), 2),
    avgPool1d: () => F.avgPool1d(t(1, 2, 4), 2),
    avgPool2d: () => F.avgPool2d(t(1, 2, 4, 4), 2),
    avgPool3d: () => F.avgPool3d(t(1, 2, 4, 4, 4), 2),
    adaptiveAvgPool2d: () => F.adaptiveAvgPool2d(t(1, 2, 4, 4), 2),
    adaptiveAvgPool3d: () => F.adaptiveAvgPool3d(t(1, 2, 4, 4, 4), 2),
    adaptiveMaxPool2d: () => F.adaptiveMaxPool2d(t(1, 2, 4, 4), 2),
    interpolateNearest: () => F.interpolate(t(1, 2, 2, 2), { scaleFactor: 2, mode: 'nearest' }),
    interpolateBilinear: () => F.interpolate(t(1, 2, 2, 2), { scaleFactor: 2, mode: 'bilinear' }),
    interpolateBicubic: () => F.interpolate(t(1, 2, 2, 2), { scaleFactor: 2, mode: 'bicubic' }),
    padConstant: () => F.pad(t(1, 2, 4, 4), [1, 1, 1, 1]),
    padReflect: () => F.pad(t(1, 2, 4, 4), [1, 1, 1, 1], { mode: 'reflect' }),
    padReplicate: () => F.pad(t(1, 2, 4, 4), [1, 1, 1, 1], { mode: 'replicate' }),
    padReflect1d: () => F.pad(t(1, 2, 4), [1, 1], { mode: 'reflect' }),
    padReplicate1d: () => F.pad(t(1, 2, 4), [1, 1], { mode: 'replicate' }),
    padReplicate3d: () => F.pad(t(1, 2, 4, 4, 4), [1, 1, 1, 1, 1, 1], { mode: 'replicate' }),
    pixelShuffle: () => F.pixelShuffle(t(1, 4, 2, 2), 2),
    gridSample: () => F.gridSample(t(1, 2, 3, 3), t(1, 2, 2, 2)),
    affineGrid: () => F.affineGrid(t(1, 2, 3), [1, 1, 2, 2]),
    cosineSimilarity: () => F.cosineSimilarity(t(2, 3), t(2, 3)),
    pairwiseDistance: () => F.pairwiseDistance(t(2, 3), t(2, 3)),
    cdist: () => cdist(t(2, 3), t(2, 3)),
    crossEntropy: () => F.crossEntropy(t(2, 3), classes),
    crossEntropyProbabilities: () => F.crossEntropy(t(2, 3), t(2, 3)),
    nllLoss: () => F.nllLoss(t(2, 3), classes),
    mseLoss: () => F.mseLoss(t(2, 3), t(2, 3)),
    l1Loss: () => F.l1Loss(t(2, 3), t(2, 3)),
    smoothL1Loss: () => F.smoothL1Loss(t(2, 3), t(2, 3)),
    huberLoss: () => F.huberLoss(t(2, 3), t(2, 3)),
    binaryCrossEntropy: () => F.binaryCrossEntropy(t(2, 3), t(2, 3)),
    binaryCrossEntropyWithLogits: () => F.binaryCrossEntropyWithLogits(t(2, 3), t(2, 3)),
    klDiv: () => F.klDiv(t(2, 3), t(2, 3), { reduction: 'batchmean' }),
    poissonNllLoss: () => F.poissonNllLoss(t(2, 3), t(2, 3)),
    gaussianNllLoss: () => F.gaussianNllLoss(t(2, 3), t(2, 3), t(2, 3)),
    cosineEmbeddingLoss: () => F.cosineEmbeddingLoss(t(2, 3), t(2, 3), sign),
    hingeEmbeddingLoss: () => F.hingeEmbeddingLoss(t(2), sign),
    marginRankingLoss: () => F.marginRankingLoss(t(2), t(2), sign),
    softMarginLoss: () => F.softMarginLoss(t(2), sign),
    tripletMarginLoss: () => F.tripletMarginLoss(t(2, 3), t(2, 3), t(2, 3)),
    multiMarginLoss: () => F.multiMarginLoss(t(2, 3), classes),
    multilabelSoftMarginLoss: () => F.multilabelSoftMarginLoss(t(2, 3), t(2, 3)),
    ctcLoss: () => F.ctcLoss(t(4, 1, 3).logSoftmax(2), tensor(BigInt64Array.of(1n, 2n), [1, 2]), [4], [2]),
    sum: () => t(2, 3).sum(),
    mean: () => t(2, 3).mean(),
    prod: () => t(2, 3).prod(),
    cumsum: () => t(2, 3).cumsum(0),
    norm: () => t(2, 3).norm(),
    var: () => t(2, 3).var(),
    trace: () => t(2, 2).trace(),
    logsumexp: () => t(2, 3).logsumexp([1]),
    dist: () => t(2, 3).dist(t(2, 3).mul(2)),
    exp: () => t(2, 3).exp(),
    log: () => t(2, 3).log(),
    pow: () => t(2, 3).pow(2),
    rsqrt: () => t(2, 3).rsqrt(),
    catMixed: () => cat([f(2, 3), b(2, 3)]),
    stackMixed: () => stack([f(2, 3), b(2, 3)]),
    addMixed: () => f(2, 3).add(b(2, 3)),
    'nn.LSTM': () => new nn.LSTM(3, 4).forward(t(2, 1, 3))[0],
    'nn.GRU': () => new nn.GRU(3, 4).forward(t(2, 1, 3))[0],
    'nn.RNN': () => new nn.RNN(3, 4).forward(t(2, 1, 3))[0],
    'nn.LSTMCell': () => new nn.LSTMCell(3, 4).forward(t(1, 3))[0],
    'nn.GRUCell': () => new nn.GRUCell(3, 4).forward(t(1, 3)),
    'nn.RNNCell': () => new nn.RNNCell(3, 4).forward(t(1, 3)),
    'nn.MultiheadAttention': () => new nn.MultiheadAttention(4, 2).forward(t(3, 1, 4)).output,
    'nn.TransformerEncoderLayer': () =>
      new nn.TransformerEncoderLayer(4, 2, { dimFeedforward: 8, dropout: 0 }).forward(t(3, 1, 4)),
    'nn.BatchNorm1d': () => new nn.BatchNorm1d(3).forward(t(2, 3, 4)),
    'nn.LayerNorm': () => new nn.LayerNorm(3).forward(t(2, 3)),
    localResponseNormImages: () => F.localResponseNorm(t(1, 3, 4, 4), 2),
    interpolateArea: () => F.interpolate(t(1, 2, 4, 4), { size: [2, 3], mode: 'area' }),
    interpolateAreaVolumes: () => F.interpolate(t(1, 2, 4, 4, 4), { size: [2, 3, 2], mode: 'area' }),
    interpolateTrilinear: () => F.interpolate(t(1, 2, 4, 4, 4), { size: [2, 3, 2], mode: 'trilinear' }),
    adaptiveMaxPool3d: () => F.adaptiveMaxPool3d(t(1, 2, 4, 4, 4), [2, 3, 2]),
    padCircular: () => F.pad(t(1, 2, 3, 3), [1, 1, 1, 1], { mode: 'circular' }),
    alphaDropout: () => F.alphaDropout(t(2, 3), 0.5),
    dropout2d: () => F.dropout2d(t(2, 3, 2, 2), 0.5),
    gumbelSoftmax: () => F.gumbelSoftmax(t(2, 3)),
    tripletMarginWithDistanceLoss: () => F.tripletMarginWithDistanceLoss(t(2, 3), t(2, 3), t(2, 3)),
    fmod: () => t(2, 3).fmod(0.3),
    remainder: () => t(2, 3).remainder(0.3),
    floorDivide: () => t(2, 3).floorDivide(0.3),
    lerp: () => t(2, 3).lerp(t(2, 3), 0.3),
    expm1: () => t(2, 3).expm1(),
    log1p: () => t(2, 3).log1p(),
    exp2: () => t(2, 3).exp2(),
    logit: () => t(2, 3).logit(),
    logaddexp: () => t(2, 3).logaddexp(t(2, 3)),
    xlogy: () => t(2, 3).xlogy(t(2, 3)),
    nanmean: () => t(2, 3).nanmean(),
    std: () => t(2, 3).std(),
    frac: () => t(2, 3).frac(),
    prodAlong: () => t(2, 3).prod(1),
    randLike: () => randLike(t(2, 3)),
    randnLike: () => randnLike(t(2, 3)),
    'nn.GRU last': () => new nn.GRU(3, 4).forward(t(2, 1, 3))[1],
    'nn.GRU narrow state': () => new nn.GRU(3, 4).forward(t(2, 1, 3), b(1, 1, 4))[0],
    'nn.GRU wide state': () => new nn.GRU(3, 4).forward(t(2, 1, 3), f(1, 1, 4))[0],
    'nn.RNN last': () => new nn.RNN(3, 4).forward(t(2, 1, 3))[1],
    'nn.LSTM cells': () => new nn.LSTM(3, 4).forward(t(2, 1, 3))[1][1],
    'nn.LSTM narrow state': () => new nn.LSTM(3, 4).forward(t(2, 1, 3), [b(1, 1, 4), b(1, 1, 4)])[0],
    'nn.LSTMCell cell': () => new nn.LSTMCell(3, 4).forward(t(1, 3))[1],
    'nn.GRUCell narrow state': () => new nn.GRUCell(3, 4).forward(t(1, 3), b(1, 4)),
    'nn.GRUCell wide state': () => new nn.GRUCell(3, 4).forward(t(1, 3), f(1, 4)),
    'nn.MultiheadAttention weights': () => new nn.MultiheadAttention(4, 2).forward(t(3, 1, 4)).weights,
  };
}

test('the results are of every call and of the PyTorch that the project compares with', () => {
  expect(torch).toMatch(/^2\.15/);
  expect(Object.keys(callsWith(f)).sort()).toEqual(Object.keys(results).sort());
});

describe.each([
  ['float32', f],
  ['bfloat16', b],
] as const)('of %s', (dtype, make) => {
  test.each(Object.entries(callsWith(make)))('%s has the dtype of torch in autocast', async (name, call) => {
    const result = autocast({ dtype: 'bfloat16' }, call);
    expect(result.dtype).toBe(results[name][dtype]);
    const elements = (await result.array()) as Float32Array;
    expect(elements.every((element) => Number.isFinite(element))).toBe(true);
    if (result.dtype === 'bfloat16') expect(elements).toEqual(await result.float().bfloat16().array());
  });
});
