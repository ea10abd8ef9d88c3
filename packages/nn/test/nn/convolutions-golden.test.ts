import { describe, expect, test } from 'vitest';
import { F, nn, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { checkGolden, goldenFile, type GoldenCase } from '../support/golden-cases.ts';
import { checkGoldenModules, made, type GoldenModule } from '../support/golden-modules.ts';
import '../support/one-thread.ts';

// The functions of test/golden/convolutions.py and the modules of test/golden/image_modules.py, under the same names.

checkGolden(goldenFile('convolutions') as readonly GoldenCase[], {
  conv1d: (x, w, b) => F.conv1d(x, w, b),
  'conv1d, options': (x, w) => F.conv1d(x, w, undefined, { stride: 2, padding: 3, dilation: [2], groups: 2 }),
  'conv1d, stride that leaves elements': (x, w) => F.conv1d(x, w, undefined, { stride: 4 }),
  'conv1d, same': (x, w) => F.conv1d(x, w, undefined, { padding: 'same', dilation: 3 }),
  'conv1d of each channel': (x, w) => F.conv1d(x, w, undefined, { groups: 4 }),
  'conv1d of one sample': (x, w, b) => F.conv1d(x, w, b),
  'conv2d of one sample': (x, w) => F.conv2d(x, w),
  conv3d: (x, w, b) => F.conv3d(x, w, b),
  'conv3d, options': (x, w) =>
    F.conv3d(x, w, undefined, {
      stride: [2, 1, 3],
      padding: [2, 1, 0],
      dilation: [1, 2, 3],
      groups: 2,
    }),
  'conv3d, same': (x, w) => F.conv3d(x, w, undefined, { padding: 'same' }),
  convTranspose1d: (x, w, b) => F.convTranspose1d(x, w, b),
  'convTranspose1d, options': (x, w, b) =>
    F.convTranspose1d(x, w, b, { stride: 3, padding: 2, outputPadding: 1, groups: 2, dilation: 2 }),
  convTranspose2d: (x, w, b) => F.convTranspose2d(x, w, b),
  'convTranspose2d, options': (x, w, b) =>
    F.convTranspose2d(x, w, b, {
      stride: [2, 3],
      padding: [1, 2],
      outputPadding: [1, 2],
      groups: 2,
      dilation: [2, 1],
    }),
  'convTranspose2d, outputPadding below the dilation': (x, w, b) =>
    F.convTranspose2d(x, w, b, { padding: [1, 3], dilation: 3, outputPadding: [2, 1] }),
  'convTranspose2d of one sample': (x, w) => F.convTranspose2d(x, w),
  convTranspose3d: (x, w, b) =>
    F.convTranspose3d(x, w, b, { stride: [2, 1, 2], padding: 1, outputPadding: [1, 0, 1], groups: 2 }),
  maxPool1d: (x) => F.maxPool1d(x, 3),
  'maxPool1d, options': (x) => F.maxPool1d(x, 4, { stride: 3, padding: 2, dilation: 2, ceilMode: true }),
  'maxPool2d, dilation': (x) => F.maxPool2d(x, [3, 2], { stride: 1, padding: 1, dilation: [2, 3] }),
  'maxPool2d, ceilMode': (x) => F.maxPool2d(x, 3, { stride: 2, padding: [0, 1], ceilMode: true }),
  'maxPool2d, ceilMode and dilation': (x) =>
    F.maxPool2d(x, 2, { stride: 3, dilation: [4, 3], ceilMode: true }),
  'maxPool2d, ceilMode with a window that begins behind': (x) =>
    F.maxPool2d(x, 2, { stride: 4, padding: 1, ceilMode: true }),
  maxPool3d: (x) => F.maxPool3d(x, [2, 1, 3]),
  'maxPool3d, options': (x) =>
    F.maxPool3d(x, 3, { stride: [2, 1, 2], padding: 1, dilation: [1, 2, 1], ceilMode: true }),
  avgPool1d: (x) => F.avgPool1d(x, 3, { stride: 2, padding: 1 }),
  'avgPool1d, ceilMode': (x) => F.avgPool1d(x, 4, { padding: 2, ceilMode: true }),
  'avgPool1d, ceilMode without padding': (x) =>
    F.avgPool1d(x, 4, { padding: 2, ceilMode: true, countIncludePad: false }),
  'avgPool2d, ceilMode': (x) => F.avgPool2d(x, [3, 4], { stride: 3, padding: [1, 0], ceilMode: true }),
  'avgPool2d, divisorOverride': (x) => F.avgPool2d(x, 2, { padding: 1, divisorOverride: 3 }),
  avgPool3d: (x) => F.avgPool3d(x, 2, { stride: [1, 2, 3], padding: 1, countIncludePad: false }),
  'avgPool3d, ceilMode': (x) => F.avgPool3d(x, [2, 3, 4], { ceilMode: true, divisorOverride: 5 }),
  adaptiveAvgPool1d: (x) => F.adaptiveAvgPool1d(x, 4),
  'adaptiveAvgPool2d, one axis kept': (x) => F.adaptiveAvgPool2d(x, [null, 4]),
  adaptiveAvgPool3d: (x) => F.adaptiveAvgPool3d(x, [2, 3, 4]),
  'adaptiveAvgPool3d to one': (x) => F.adaptiveAvgPool3d(x, 1),
  adaptiveMaxPool1d: (x) => F.adaptiveMaxPool1d(x, 4),
  adaptiveMaxPool2d: (x) => F.adaptiveMaxPool2d(x, [3, 4]),
  'adaptiveMaxPool2d of even windows': (x) => F.adaptiveMaxPool2d(x, [3, 2]),
  adaptiveMaxPool3d: (x) => F.adaptiveMaxPool3d(x, [2, null, 5]),
  pad: (x) => F.pad(x, [1, 2, 0, 3], { value: 0.5 }),
  'pad, negative': (x) => F.pad(x, [-1, 2, 3, -2, 1, 0]),
  'pad, reflect': (x) => F.pad(x, [1, 3, 2, 0], { mode: 'reflect' }),
  'pad, reflect, negative': (x) => F.pad(x, [-2, 4], { mode: 'reflect' }),
  'pad, replicate': (x) => F.pad(x, [1, 3, 2, 0, 4, 1], { mode: 'replicate' }),
  'pad, circular': (x) => F.pad(x, [1, 6, 2, 0], { mode: 'circular' }),
  'interpolate, nearest': (x) => F.interpolate(x, { scaleFactor: [2, 3] }),
  'interpolate, nearest of a size': (x) => F.interpolate(x, { size: [5, 11] }),
  'interpolate, nearest by fractions': (x) => F.interpolate(x, { scaleFactor: [0.7, 1.6, 2.3] }),
  'interpolate, nearest, recomputed': (x) =>
    F.interpolate(x, { scaleFactor: 2.3, recomputeScaleFactor: true }),
  'interpolate, nearest-exact': (x) => F.interpolate(x, { size: 7, mode: 'nearest-exact' }),
  'interpolate, area': (x) => F.interpolate(x, { size: [3, 4], mode: 'area' }),
  'interpolate, linear': (x) => F.interpolate(x, { size: 17, mode: 'linear' }),
  'interpolate, linear, corners': (x) =>
    F.interpolate(x, { scaleFactor: 0.6, mode: 'linear', alignCorners: true }),
  'interpolate, linear to one': (x) => F.interpolate(x, { size: 1, mode: 'linear', alignCorners: true }),
  'interpolate, bilinear': (x) => F.interpolate(x, { scaleFactor: 2, mode: 'bilinear' }),
  'interpolate, bilinear by fractions': (x) =>
    F.interpolate(x, { scaleFactor: [1.7, 0.4], mode: 'bilinear' }),
  'interpolate, bilinear, corners': (x) =>
    F.interpolate(x, { size: [9, 4], mode: 'bilinear', alignCorners: true }),
  'interpolate, bilinear, recomputed': (x) =>
    F.interpolate(x, { scaleFactor: 1.7, mode: 'bilinear', recomputeScaleFactor: true }),
  'interpolate, bicubic': (x) => F.interpolate(x, { size: [10, 4], mode: 'bicubic' }),
  'interpolate, bicubic, corners': (x) =>
    F.interpolate(x, { scaleFactor: 1.5, mode: 'bicubic', alignCorners: true }),
  'interpolate, trilinear': (x) => F.interpolate(x, { size: [3, 9, 7], mode: 'trilinear' }),
  pixelShuffle: (x) => F.pixelShuffle(x, 2),
  pixelUnshuffle: (x) => F.pixelUnshuffle(x, 3),
});

type OneInput = nn.Module & { forward(input: Tensor): Tensor };
const layer =
  (make: () => OneInput): (() => GoldenModule) =>
  () =>
    made(make(), (module, x) => module.forward(x));

checkGoldenModules('image_modules', {
  Conv1d: layer(() => new nn.Conv1d(4, 6, 3, { stride: 2, padding: 1, groups: 2 })),
  'Conv1d, circular': layer(
    () => new nn.Conv1d(4, 3, 4, { padding: 'same', dilation: 2, paddingMode: 'circular' }),
  ),
  'Conv2d, reflect': layer(
    () =>
      new nn.Conv2d(4, 3, [3, 2], { padding: [2, 1], stride: [1, 2], bias: false, paddingMode: 'reflect' }),
  ),
  'Conv2d, replicate': layer(() => new nn.Conv2d(4, 3, 3, { padding: [0, 2], paddingMode: 'replicate' })),
  'Conv2d, valid': layer(() => new nn.Conv2d(4, 3, 2, { padding: 'valid' })),
  Conv3d: layer(() => new nn.Conv3d(4, 6, [2, 3, 2], { dilation: [2, 1, 1], groups: 2 })),
  ConvTranspose1d: layer(() => new nn.ConvTranspose1d(4, 6, 3, { stride: 2, outputPadding: 1, groups: 2 })),
  ConvTranspose2d: layer(() => new nn.ConvTranspose2d(4, 3, [2, 3], { stride: 2, padding: 1 })),
  ConvTranspose3d: layer(() => new nn.ConvTranspose3d(4, 2, 2, { stride: 2, bias: false })),
  BatchNorm3d: layer(() => new nn.BatchNorm3d(4)),
  InstanceNorm3d: layer(() => new nn.InstanceNorm3d(4, { affine: true })),
  MaxPool1d: layer(() => new nn.MaxPool1d(3, { stride: 2 })),
  MaxPool3d: layer(() => new nn.MaxPool3d(2, { ceilMode: true })),
  AvgPool1d: layer(() => new nn.AvgPool1d(3, { padding: 1 })),
  AvgPool3d: layer(() => new nn.AvgPool3d(2)),
  AdaptiveAvgPool1d: layer(() => new nn.AdaptiveAvgPool1d(3)),
  AdaptiveAvgPool3d: layer(() => new nn.AdaptiveAvgPool3d([2, null, 3])),
  AdaptiveMaxPool1d: layer(() => new nn.AdaptiveMaxPool1d(3)),
  AdaptiveMaxPool2d: layer(() => new nn.AdaptiveMaxPool2d(3)),
  AdaptiveMaxPool3d: layer(() => new nn.AdaptiveMaxPool3d(2)),
  Upsample: layer(() => new nn.Upsample({ scaleFactor: 2, mode: 'bilinear', alignCorners: true })),
  PixelShuffle: layer(() => new nn.PixelShuffle(2)),
  PixelUnshuffle: layer(() => new nn.PixelUnshuffle(2)),
  ZeroPad2d: layer(() => new nn.ZeroPad2d([1, 0, 2, -1])),
  ConstantPad1d: layer(() => new nn.ConstantPad1d([3, 1], -2.5)),
  ConstantPad2d: layer(() => new nn.ConstantPad2d(1, 3)),
  ConstantPad3d: layer(() => new nn.ConstantPad3d([1, 0, 2, 1, 0, 1], 0.5)),
  ReflectionPad1d: layer(() => new nn.ReflectionPad1d(4)),
  ReflectionPad2d: layer(() => new nn.ReflectionPad2d([3, 1, 0, 2])),
  ReflectionPad3d: layer(() => new nn.ReflectionPad3d([1, 2, 3, 0, 2, 1])),
  ReplicationPad1d: layer(() => new nn.ReplicationPad1d([0, 14])),
  ReplicationPad2d: layer(() => new nn.ReplicationPad2d(2)),
  ReplicationPad3d: layer(() => new nn.ReplicationPad3d([1, 0, 0, 2, 3, 1])),
});

const of = (...shape: number[]) => tensor(fill(shape, 1), shape);

test('layers that torch 1.13 does not have pad as F.pad', async () => {
  const pairs: [nn.Padding, Tensor, readonly number[], F.PadOptions][] = [
    [new nn.ZeroPad1d(2), of(2, 3), [2, 2], {}],
    [new nn.ZeroPad3d([1, 0, 0, 2, 1, 1]), of(2, 3, 2, 2), [1, 0, 0, 2, 1, 1], {}],
    [new nn.CircularPad1d([3, 1]), of(2, 3), [3, 1], { mode: 'circular' }],
    [new nn.CircularPad2d(1), of(2, 3, 4), [1, 1, 1, 1], { mode: 'circular' }],
    [new nn.CircularPad3d([1, 1, 2, 0, 0, 1]), of(2, 3, 2, 2), [1, 1, 2, 0, 0, 1], { mode: 'circular' }],
  ];
  for (const [module, x, amounts, options] of pairs) {
    const expected = F.pad(x, amounts, options);
    const actual = module.forward(x);
    expect(actual.shape).toEqual(expected.shape);
    expect([...(await actual.array())]).toEqual([...(await expected.array())]);
  }
});

test('integers and conditions are padded with a number of their dtype', async () => {
  const labels = F.pad(tensor([1, 2]), [1, 2], { value: -100 });
  expect([...(await labels.array())]).toEqual([-100n, 1n, 2n, -100n, -100n]);
});

describe('wrong arguments are rejected', () => {
  test.each<[string, () => unknown, string]>([
    [
      'kernel of the wrong length',
      () => new nn.Conv1d(2, 3, [3, 3] as never),
      'Conv1d: kernelSize must be one integer or 1, got 3x3.',
    ],
    ['groups', () => new nn.ConvTranspose2d(4, 3, 2, { groups: 2 }), 'ConvTranspose2d: groups must divide'],
    [
      'padding mode',
      () => new nn.Conv2d(1, 1, 2, { paddingMode: 'mirror' as never }),
      "Conv2d: paddingMode must be 'zeros', 'reflect', 'replicate' or 'circular', got \"mirror\".",
    ],
    [
      'output padding',
      () => F.convTranspose1d(of(1, 1, 3), of(1, 1, 2), undefined, { stride: 2, outputPadding: 2 }),
      'outputPadding must be below the stride or the dilation, got 2 for a stride of 2',
    ],
    ['conv3d of images', () => F.conv3d(of(1, 1, 2, 2), of(1, 2, 1, 1, 1)), 'expected 2 channels'],
    [
      'maxPool1d of a vector',
      () => F.maxPool1d(of(4), 2),
      'maxPool1d: expected float32 with 3 dimensions (NCL)',
    ],
    [
      'padding of a pool',
      () => F.avgPool3d(of(1, 1, 4, 4, 4), 2, { padding: 2 }),
      'at most half of the window',
    ],
    [
      'divisor',
      () => F.avgPool2d(of(1, 1, 4, 4), 2, { divisorOverride: 0 }),
      'divisorOverride must not be 0',
    ],
    [
      'too much reflection',
      () => F.pad(of(1, 1, 3), [3, 0], { mode: 'reflect' }),
      "pad: mode 'reflect' adds at most 2 elements on each side of dimension 2 of float32[1,1,3], got 3 and 0.",
    ],
    [
      'an odd number of pads',
      () => F.pad(of(3), [1]),
      'expected two integers for each of the last dimensions',
    ],
    ['pads of too many dimensions', () => F.pad(of(3), [1, 1, 1, 1]), 'at most 2 numbers for float32[3]'],
    [
      'a value of a mode',
      () => F.pad(of(3), [1, 1], { mode: 'circular', value: 1 }),
      "requires mode 'constant'",
    ],
    ['more removed than there is', () => F.pad(of(3), [-2, -2]), 'pad: float32[3] has too few elements'],
    [
      'padding of the wrong rank',
      () => new nn.ReflectionPad2d(1).forward(of(3, 3)),
      'expected 3 or 4 dimensions',
    ],
    ['pads of the wrong length', () => new nn.ZeroPad2d([1, 2]), 'ZeroPad2d: expected one integer or 4'],
    ['no size', () => F.interpolate(of(1, 1, 3), {}), 'interpolate: expected either size or scaleFactor.'],
    [
      'a mode of other images',
      () => F.interpolate(of(1, 1, 3), { size: 2, mode: 'bilinear' }),
      '4 dimensions',
    ],
    [
      'corners of nearest',
      () => F.interpolate(of(1, 1, 3), { size: 2, alignCorners: true }),
      'alignCorners is for',
    ],
    [
      'a scale that leaves nothing',
      () => F.interpolate(of(1, 1, 3), { scaleFactor: 0.2 }),
      'size of at least 1',
    ],
    ['channels to shuffle', () => F.pixelShuffle(of(1, 6, 2, 2), 2), 'a multiple of 4 channels'],
    ['pixels to shuffle', () => F.pixelUnshuffle(of(1, 1, 3, 2), 2), 'multiples of 2 rows and columns'],
  ])('%s', (_, call, message) => {
    expect(call).toThrow(message);
  });
});
