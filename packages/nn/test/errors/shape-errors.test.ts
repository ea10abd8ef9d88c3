import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import {
  ArgumentError,
  BufferTensor,
  F,
  nn,
  Parameter,
  ShapeError,
  stack,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { sizeOf } from '../../src/value-type.ts';
import { matmul } from '../../src/ops/linear-algebra.ts';
import { concat, slice, split } from '../../src/ops/shape.ts';

const of = (...shape: number[]): Tensor => tensor(new Float32Array(sizeOf(shape)), shape);
const integers = (...shape: number[]): Tensor => tensor(new BigInt64Array(sizeOf(shape)), shape);
/** An activation that torch supports for floats only. */
const ofIntegers = (
  name:
    | 'celu'
    | 'elu'
    | 'gelu'
    | 'glu'
    | 'hardshrink'
    | 'hardsigmoid'
    | 'hardswish'
    | 'leakyRelu'
    | 'logsigmoid'
    | 'mish'
    | 'selu'
    | 'silu'
    | 'softplus'
    | 'softshrink',
): [string, () => Tensor, string[]] => [
  `${name} of integers`,
  () => F[name](integers(2)),
  [`${name}: expected float32, got int64[2]`],
];

let compile: MockInstance<typeof onnxruntimeExecutor.compile>;
beforeEach(() => {
  compile = vi.spyOn(onnxruntimeExecutor, 'compile');
});
afterEach(() => {
  compile.mockRestore();
});

describe('rejects incompatible shapes at the call, and names both', () => {
  test.each<[string, () => unknown, readonly string[]]>([
    ['add', () => of(2, 3).add(of(4, 3)), ['float32[2,3]', 'float32[4,3]']],
    ['mul, leading dimensions', () => of(2, 1, 3).mul(of(5, 2)), ['float32[2,1,3]', 'float32[5,2]']],
    ['sub of conditions', () => of(2).gt(0).sub(of(2).gt(0)), ['bool[2]']],
    ['relu of conditions', () => of(2).gt(0).relu(), ['bool[2]']],
    ['mean of integers', () => integers(2).mean(), ['int64[2]', 'float()']],
    ['sum of an axis that does not exist', () => of(2, 3).sum([2]), ['got 2', 'float32[2,3]', '-2 to 1']],
    ['sum of an axis twice', () => of(2, 3).sum([-1, 1]), ['axis 1', 'float32[2,3]', '[-1,1]', 'twice']],
    ['view', () => of(2, 3).view(4, -1), ['float32[2,3]', '6 elements', '[4,-1]']],
    ['view with two open dimensions', () => of(2, 3).view(-1, -1), ['float32[2,3]', '[-1,-1]', 'only one']],
    ['permute', () => of(2, 3).permute(0, 0), ['[0,0]', 'float32[2,3]']],
    ['permute, below the first', () => of(2, 3).permute(0, -3), ['[0,-3]', 'float32[2,3]']],
    [
      'linear',
      () => F.linear(of(2, 3), of(5, 4)),
      ['float32[2,3]', 'float32[5,4] transposed', 'got 3 and 4'],
    ],
    ['linear of a vector', () => F.linear(of(3), of(5, 4)), ['float32[3]', 'float32[5,4]']],
    ['linear of many rows', () => F.linear(of(2, 3, 4), of(5, 3)), ['float32[2,3,4]', 'float32[5,3]']],
    ['linear of a number', () => F.linear(of(), of(5, 1)), ['float32[]', 'float32[5,1]']],
    ['linear, bias', () => F.linear(of(2, 3), of(5, 3), of(4)), ['float32[4]', 'float32[5]']],
    [
      'conv2d, channels',
      () => F.conv2d(of(1, 3, 5, 5), of(4, 2, 3, 3)),
      ['float32[1,3,5,5]', 'float32[4,2,3,3]'],
    ],
    [
      'conv2d, bias',
      () => F.conv2d(of(1, 2, 5, 5), of(4, 2, 3, 3), of(3)),
      ['float32[3]', 'float32[4,2,3,3]'],
    ],
    [
      'conv2d, kernel',
      () => F.conv2d(of(1, 2, 2, 5), of(4, 2, 3, 3)),
      ['float32[1,2,2,5]', 'float32[4,2,3,3]'],
    ],
    ['conv2d of matrices', () => F.conv2d(of(2, 2), of(4, 2, 3, 3)), ['float32[2,2]', 'NCHW']],
    [
      'conv2d, groups',
      () => F.conv2d(of(1, 4, 5, 5), of(3, 2, 3, 3), undefined, { groups: 2 }),
      ['2 group(s)'],
    ],
    ['maxPool2d', () => F.maxPool2d(of(1, 1, 2, 2), 3), ['3x3', 'float32[1,1,2,2]']],
    ['avgPool2d', () => F.avgPool2d(of(1, 1, 2, 2), 3), ['3x3', 'float32[1,1,2,2]']],
    ['adaptiveAvgPool2d of a matrix', () => F.adaptiveAvgPool2d(of(2, 2), 1), ['float32[2,2]', 'NCHW']],
    ['logSoftmax', () => F.logSoftmax(of(2, 3), -3), ['got -3', 'float32[2,3]']],
    ['nllLoss, rows', () => F.nllLoss(of(2, 3), integers(4)), ['float32[2,3]', 'int64[4]']],
    ['nllLoss, labels of float32', () => F.nllLoss(of(2, 3), of(2)), ['float32[2,3]', 'float32[2]']],
    [
      'nllLoss of images',
      () => F.nllLoss(of(2, 3, 4), integers(2, 3)),
      ['nllLoss', 'float32[2,3,4]', 'int64[2,3]'],
    ],
    [
      'crossEntropy',
      () => F.crossEntropy(of(2, 3), integers(3)),
      ['crossEntropy', 'float32[2,3]', 'int64[3]'],
    ],
    ['crossEntropy of a vector', () => F.crossEntropy(of(3), integers(1)), ['float32[3]', 'int64[1]']],
    [
      'crossEntropy, probabilities',
      () => F.crossEntropy(of(2, 3), of(2, 4)),
      ['crossEntropy', 'float32[2,3]', 'float32[2,4]'],
    ],
    [
      'crossEntropy, weight',
      () => F.crossEntropy(of(2, 3), integers(2), { weight: of(2) }),
      ['crossEntropy', 'float32[3]', 'float32[2]'],
    ],
    ['layerNorm', () => F.layerNorm(of(2, 3), [4]), ['layerNorm', 'float32[2,3]', '[4]']],
    ['layerNorm, weight', () => F.layerNorm(of(2, 3), [3], of(2)), ['weight', 'float32[3]', 'float32[2]']],
    ['embedding of floats', () => F.embedding(of(2), of(4, 3)), ['float32[2]', 'float32[4,3]']],
    ['embedding, table', () => F.embedding(integers(2), of(4)), ['int64[2]', 'float32[4]']],
    [
      'maxPool1d without channels',
      () => F.maxPool1d(of(0, 10), 2),
      ['at least one channel', 'float32[1,0,10]'],
    ],
    [
      'maxPool3d without channels',
      () => F.maxPool3d(of(2, 0, 4, 4, 4), 2),
      ['one channel', 'float32[2,0,4,4,4]'],
    ],
    ['avgPool2d without channels', () => F.avgPool2d(of(0, 4, 4), 2), ['one channel', 'float32[1,0,4,4]']],
    ['adaptiveMaxPool1d without channels', () => F.adaptiveMaxPool1d(of(2, 0, 4), 2), ['adaptiveMaxPool1d']],
    ['adaptiveAvgPool3d without channels', () => F.adaptiveAvgPool3d(of(2, 0, 4, 4, 4), 2), ['one channel']],
    ['groupNorm without channels', () => F.groupNorm(of(2, 0, 3), 1), ['groupNorm', 'float32[2,0,3]']],
    ['groupNorm of empty channels', () => F.groupNorm(of(2, 4, 0), 2), ['groupNorm', 'float32[2,4,0]']],
    ...(
      ['glu', 'celu', 'elu', 'selu', 'gelu', 'silu', 'mish', 'softplus', 'logsigmoid', 'leakyRelu'] as const
    ).map(ofIntegers),
    ...(['hardswish', 'hardsigmoid', 'hardshrink', 'softshrink'] as const).map(ofIntegers),
    ['prelu of integers', () => F.prelu(integers(2), of(1)), ['prelu: expected float32, got int64[2]']],
    [
      'interpolate without channels',
      () => F.interpolate(of(1, 0, 4, 4), { size: 2 }),
      ['interpolate', 'float32[1,0,4,4]'],
    ],
    ['hardtanh of truth values', () => F.hardtanh(of(2).gt(0)), ['hardtanh', 'bool[2]']],
    ['threshold of truth values', () => F.threshold(of(2).gt(0), 0, 1), ['threshold', 'bool[2]']],
    [
      'localResponseNorm of integers',
      () => F.localResponseNorm(integers(2, 3, 4), 2),
      ['localResponseNorm: expected float32'],
    ],
    ['dropout of integers', () => F.dropout(integers(2)), ['dropout', 'int64[2]']],
    ['BufferTensor', () => new BufferTensor(new Float32Array(3), [2, 2]), ['float32[2,2]', 'got 3']],
    ['batchNorm', () => F.batchNorm(of(3)), ['batchNorm', 'float32[3]']],
    [
      'batchNorm, weight',
      () => F.batchNorm(of(2, 3), undefined, undefined, of(2), undefined, { training: true }),
      ['weight must be float32[3]', 'float32[2,3]', 'float32[2]'],
    ],
    [
      'batchNorm of one value',
      () => F.batchNorm(of(1, 3), undefined, undefined, undefined, undefined, { training: true }),
      ['more than 1 value per channel', 'float32[1,3]'],
    ],
    [
      'BatchNorm2d',
      () => new nn.BatchNorm2d(3).forward(of(2, 4, 5, 5)),
      ['BatchNorm2d', 'C = 3', 'float32[2,4,5,5]'],
    ],
    [
      'BatchNorm1d',
      () => new nn.BatchNorm1d(3).forward(of(2, 3, 5, 5)),
      ['BatchNorm1d', '[N,C,L]', 'float32[2,3,5,5]'],
    ],
    ['mseLoss', () => F.mseLoss(of(2, 3), of(3)), ['mseLoss', 'float32[2,3]', 'float32[3]']],
    [
      'binaryCrossEntropyWithLogits',
      () => F.binaryCrossEntropyWithLogits(of(2, 1), of(2)),
      ['binaryCrossEntropyWithLogits', 'float32[2,1]', 'float32[2]'],
    ],
    [
      'binaryCrossEntropyWithLogits, posWeight',
      () => F.binaryCrossEntropyWithLogits(of(2, 1), of(2, 1), { posWeight: of(3) }),
      ['posWeight', 'float32[2,1]', 'float32[3]'],
    ],
    ['matmul of a number', () => of().matmul(of(2)), ['matmul', 'float32[]', 'float32[2]']],
    ['matmul of many', () => of(2, 3, 4).matmul(of(3, 4)), ['float32[2,3,4]', 'float32[3,4]']],
    [
      'matmul, leading dimensions',
      () => of(2, 3, 4).matmul(of(3, 4, 5)),
      ['float32[2,3,4]', 'float32[3,4,5]'],
    ],
    ['amax of nothing', () => of(2, 0).amax([1]), ['float32[2,0]', 'at least one element']],
    ['softmax', () => of(2, 3).softmax(2), ['got 2', 'float32[2,3]']],
    ['transpose', () => of(2, 3).transpose(0, 2), ['transpose', 'got 2', 'float32[2,3]']],
    ['flatten', () => of(2, 3, 4).flatten(2, 1), ['startDim', 'got 2 and 1', 'float32[2,3,4]']],
    ['unsqueeze', () => of(2, 3).unsqueeze(3), ['got 3', 'float32[2,3]', '-3 to 2']],
    ['stack', () => stack([of(2, 3), of(3, 2)]), ['float32[1,2,3]', 'float32[1,3,2]']],
    ['matmul', () => matmul(of(2, 3, 4).value, of(2, 3, 4).value), ['float32[2,3,4]']],
    ['concat', () => concat([of(2, 3).value, of(3, 3).value], 1), ['float32[2,3]', 'float32[3,3]', 'axis 1']],
    ['concat of nothing', () => concat([], 0), ['got none']],
    ['split', () => split(of(2, 5).value, 1, 2), ['axis 1', 'float32[2,5]', 'into 2 equal parts']],
    ['slice', () => slice(of(2, 5).value, 1, 3, 6), ['3 to 6', 'float32[2,5]']],
    ['tensor', () => tensor(new Float32Array(5), [2, 3]), ['float32[2,3]', '6 elements', 'got 5']],
    ['Parameter', () => new Parameter(new Float32Array(4), [-2, -2]), ['float32[-2,-2]']],
  ])('%s', (_, build, parts) => {
    expect(build).toThrow(ShapeError);
    for (const part of parts) expect(build).toThrow(part);
    expect(compile).not.toHaveBeenCalled();
  });

  test('item of several elements', async () => {
    await expect(of(2).item()).rejects.toThrow('got float32[2]');
    expect(compile).not.toHaveBeenCalled();
  });
});

describe('rejects invalid arguments', () => {
  test.each<[string, () => unknown, string]>([
    ['conv2d', () => F.conv2d(of(1, 1, 5, 5), of(1, 1, 3, 3), undefined, { stride: 0 }), 'stride must be'],
    ['conv2d', () => F.conv2d(of(1, 1, 5, 5), of(1, 1, 3, 3), undefined, { padding: [1, -1] }), 'got 1x-1'],
    ['conv2d', () => F.conv2d(of(1, 1, 5, 5), of(1, 1, 3, 3), undefined, { dilation: 1.5 }), 'got 1.5x1.5'],
    [
      'maxPool2d',
      () => F.maxPool2d(of(1, 1, 4, 4), 2, { padding: 2 }),
      'at most half of the window 2x2, got 2x2',
    ],
    [
      'avgPool2d',
      () => F.avgPool2d(of(1, 1, 4, 4), 2, { padding: 2 }),
      'at most half of the window 2x2, got 2x2',
    ],
    ['adaptiveAvgPool2d', () => F.adaptiveAvgPool2d(of(1, 1, 4, 4), [0, 2]), 'outputSize must be'],
    [
      'gelu',
      () => F.gelu(of(2), { approximate: 'sigmoid' as 'tanh' }),
      "must be 'none' or 'tanh', got 'sigmoid'",
    ],
    [
      'nllLoss',
      () => F.nllLoss(of(2, 3), integers(2), { ignoreIndex: 0.5 }),
      'ignoreIndex must be an integer of 64 bits, got 0.5',
    ],
    [
      'mseLoss',
      () => F.mseLoss(of(2), of(2), { reduction: 'average' as 'mean' }),
      "reduction must be 'mean', 'sum' or 'none', got 'average'",
    ],
    [
      'nllLoss',
      () => F.nllLoss(of(2, 3), integers(2), { reduction: 'average' as 'mean' }),
      "reduction must be 'mean', 'sum' or 'none', got 'average'",
    ],
    [
      'crossEntropy',
      () => F.crossEntropy(of(2, 3), integers(2), { labelSmoothing: 1.5 }),
      'labelSmoothing must be from 0 to 1, got 1.5',
    ],
    [
      'crossEntropy',
      () => F.crossEntropy(of(2, 3), tensor(BigInt64Array.of(1n, 3n)), { ignoreIndex: 2 }),
      'expected targets from 0 to 2 or ignoreIndex (2), got 3 at index 1',
    ],
    [
      'embedding',
      () => F.embedding(tensor(BigInt64Array.of(0n, 4n)), of(4, 3)),
      'expected rows from 0 to 3, got 4 at index 1',
    ],
    ['embedding', () => F.embedding(tensor(BigInt64Array.of(-1n)), of(4, 3)), 'got -1 at index 0'],
    [
      'Embedding',
      () => new nn.Embedding(4, 3, { paddingIdx: 4 }),
      'paddingIdx must be an integer from -4 to 3',
    ],
    ['Embedding', () => new nn.Embedding(4, 0), 'embeddingDim must be a positive integer'],
    ['LayerNorm', () => new nn.LayerNorm([2, 0]), 'normalizedShape must be a positive integer, got 0'],
    ['LayerNorm', () => new nn.LayerNorm(2, { eps: 0 }), 'eps must be above 0, got 0'],
    [
      'conv2d',
      () => F.conv2d(of(1, 1, 5, 5), of(1, 1, 3, 3), undefined, { padding: 'same', stride: 2 }),
      "padding 'same' requires a stride of 1, got 2x2",
    ],
    ['groupNorm', () => F.groupNorm(of(2, 4), 0.5), 'numGroups must be a positive integer, got 0.5'],
    ['groupNorm', () => F.groupNorm(of(2, 4), -2), 'numGroups must be a positive integer, got -2'],
    ['hardtanh', () => F.hardtanh(integers(2), 0, Infinity), 'in the range of int64[2], got Infinity'],
    ['threshold', () => F.threshold(integers(2), 2 ** 63, 0), 'in the range of int64[2], got'],
    [
      'tripletMarginWithDistanceLoss',
      () => F.tripletMarginWithDistanceLoss(of(2, 3), of(2, 3), of(2, 3), { margin: -1 }),
      'tripletMarginWithDistanceLoss: margin must be above 0, got -1',
    ],
    [
      'TripletMarginLoss',
      () => new nn.TripletMarginLoss({ margin: 0 }),
      'TripletMarginLoss: margin must be above 0, got 0',
    ],
    [
      'TripletMarginWithDistanceLoss',
      () => new nn.TripletMarginWithDistanceLoss({ margin: -1 }),
      'TripletMarginWithDistanceLoss: margin must be above 0, got -1',
    ],
    ['RNN', () => new nn.RNN(2, 3, { bias: 1 as never }), 'RNN: bias must be true or false, got 1'],
    ['GRU', () => new nn.GRU(2, 3, { batchFirst: 0 as never }), 'GRU: batchFirst must be true or false'],
    [
      'LSTM',
      () => new nn.LSTM(2, 3, { bidirectional: 'false' as never }),
      'LSTM: bidirectional must be true or false',
    ],
    ['GRUCell', () => new nn.GRUCell(2, 3, { bias: 0 as never }), 'GRUCell: bias must be true or false'],
    ['dropout', () => F.dropout(of(2), 1.5), 'p must be from 0 to 1, got 1.5'],
    ['Dropout', () => new nn.Dropout(-0.1), 'p must be from 0 to 1, got -0.1'],
    [
      'BatchNorm2d',
      () => new nn.BatchNorm2d(3, { momentum: 2 }),
      'BatchNorm2d: momentum must be from 0 to 1, or null, got 2',
    ],
    [
      'batchNorm',
      () => F.batchNorm(of(2, 3)),
      'expected a running mean and variance in evaluation, got none',
    ],
    [
      'Sequential',
      () => new nn.Sequential(undefined as unknown as nn.Layer),
      'expected Modules with a forward method, got undefined at index 0',
    ],
    ['Conv2d', () => new nn.Conv2d(3, 4, 3, { groups: 2 }), 'got 2 groups, 3 inChannels and 4 outChannels'],
    ['Conv2d', () => new nn.Conv2d(0, 4, 3), 'inChannels must be a positive integer, got 0'],
    ['Linear', () => new nn.Linear(3, 2.5), 'outFeatures must be a positive integer, got 2.5'],
  ])('%s', (_, build, message) => {
    expect(build).toThrow(ArgumentError);
    expect(build).toThrow(message);
  });
});
