import { expect, test } from 'vitest';
import {
  arange,
  cat,
  eye,
  F,
  full,
  linspace,
  manualSeed,
  nn,
  normal,
  ones,
  Parameter,
  rand,
  randint,
  randn,
  stack,
  tensor,
  where,
  zeros,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

// Lines that torch takes, in all their spellings. TypeScript checks the types of each.

const x = tensor([
  [1, -2, 3],
  [4, 5, -6],
]).float();
const images = arange(32).float().view(1, 2, 4, 4);
const classes = tensor([2, 0]);

type Result = Tensor | readonly Tensor[];

const rows: Readonly<Record<string, readonly (() => Result)[]>> = {
  randn: [() => randn(2, 3), () => randn([2, 3]), () => randn({ size: [2, 3] })],
  rand: [() => rand(2, 3), () => rand([2, 3]), () => rand({ size: [2, 3] })],
  randint: [() => randint(10, [5]), () => randint(0, 10, [5]), () => randint({ high: 10, size: [5] })],
  normal: [() => normal(0, 2, [3]), () => normal({ mean: 0, std: 2, size: [3] })],
  zeros: [() => zeros(2, 3), () => zeros([2, 3]), () => zeros({ size: [2, 3] })],
  ones: [() => ones(2, { dtype: 'int64' }), () => ones([2], { dtype: 'int64' })],
  full: [() => full([2], 7), () => full({ size: [2], fillValue: 7 })],
  arange: [() => arange(4), () => arange(0, 4), () => arange(0, 4, 1), () => arange({ end: 4 })],
  linspace: [() => linspace(0, 1, 3), () => linspace({ start: 0, end: 1, steps: 3 })],
  eye: [() => eye(2), () => eye(2, 2), () => eye({ n: 2 })],
  tensor: [() => tensor([[1, 2]]), () => tensor([1, 2], [1, 2]), () => tensor([1, 2]).view(1, 2)],
  'tensor with a dtype': [
    () => tensor([1, 2], { dtype: 'float32' }),
    () => tensor([1, 2], [2], { dtype: 'float32' }),
    () => tensor([1, 2]).float(),
  ],
  view: [
    () => x.view(3, 2),
    () => x.view([3, 2]),
    () => x.view(-1, 2),
    () => x.reshape(3, 2),
    () => x.reshape([3, -1]),
  ],
  permute: [
    () => x.permute(1, 0),
    () => x.permute([1, 0]),
    () => x.permute({ dims: [1, 0] }),
    () => x.t(),
    () => x.transpose(0, 1),
    () => x.transpose(-2, -1),
  ],
  expand: [() => x.sum(0, true).expand(4, -1), () => x.sum(0, true).expand([4, 3])],
  repeat: [() => x.repeat(2, 1), () => x.repeat([2, 1]), () => x.tile(2, 1), () => cat([x, x])],
  flip: [() => x.flip(0), () => x.flip([0]), () => x.flip({ dims: [0] })],
  squeeze: [
    () => zeros(1, 2, 1).squeeze(),
    () => zeros(1, 2, 1).squeeze([0, 2]),
    () => zeros(1, 2).squeeze(0),
  ],
  flatten: [() => images.flatten(1), () => images.flatten({ startDim: 1 }), () => images.flatten(1, -1)],
  sum: [() => x.sum(1), () => x.sum([1]), () => x.sum({ dim: 1 }), () => x.sum(-1, false)],
  'sum, kept': [
    () => x.sum(1, true),
    () => x.sum({ dim: 1, keepdim: true }),
    () => x.sum(1, { keepdim: true }),
  ],
  mean: [() => x.mean(-1, true), () => x.mean({ dim: -1, keepdim: true })],
  norm: [() => x.norm(2, 1), () => x.norm({ p: 2, dim: 1 }), () => x.square().sum(1).sqrt()],
  max: [() => x.max(1).values, () => x.max({ dim: 1 }).values, () => x.amax(1)],
  argmax: [() => x.argmax(1), () => x.argmax({ dim: 1 }), () => x.max(1).indices],
  topk: [() => x.topk(2).values, () => x.topk({ k: 2 }).values, () => x.topk(2, -1, true).values],
  sort: [() => x.sort(1, true).values, () => x.sort({ dim: 1, descending: true }).values],
  cumsum: [() => x.cumsum(1), () => x.cumsum({ dim: 1 })],
  softmax: [
    () => x.softmax(1),
    () => x.softmax({ dim: 1 }),
    () => F.softmax(x, 1),
    () => F.softmax(x, { dim: 1 }),
  ],
  clamp: [() => x.clamp(-1, 2), () => x.clamp({ min: -1, max: 2 }), () => x.clamp(-1, { max: 2 })],
  add: [() => x.add(x, { alpha: 2 }), () => x.add(x.mul(2)), () => x.mul(3)],
  sub: [() => x.sub(x, { alpha: 2 }), () => x.neg(), () => x.sub({ other: x, alpha: 2 })],
  'add a number': [() => x.add(1.5, { alpha: 2 }), () => x.add(3)],
  div: [
    () => x.div(2, { roundingMode: 'floor' }),
    () => x.div(2).floor(),
    () => x.floorDivide(2),
    () => x.div({ other: 2, roundingMode: 'floor' }),
  ],
  'div of integers': [
    () => classes.sub(3).div(2, { roundingMode: 'trunc' }),
    () => tensor([0, -1]),
    () => classes.sub(3).float().div(2, { roundingMode: 'trunc' }).long(),
  ],
  gather: [() => x.gather(1, classes.unsqueeze(1)), () => x.gather({ dim: 1, index: classes.unsqueeze(1) })],
  maskedFill: [() => x.maskedFill(x.lt(0), 0), () => where(x.lt(0), 0, x), () => x.relu(), () => F.relu(x)],
  split: [() => x.split(1), () => x.split([1, 1]), () => x.split({ splitSize: 1 }), () => x.chunk(2)],
  'split columns': [() => x.split(1, 1), () => x.split(1, { dim: 1 }), () => x.chunk(3, 1)],
  cat: [() => cat([x, x], 1), () => cat([x, x], { dim: 1 }), () => cat([x, x], -1)],
  stack: [() => stack([x, x], 1), () => stack([x, x], { dim: 1 })],
  conv2d: [
    () => F.conv2d(images, ones(1, 2, 3, 3), undefined, 1, 1),
    () => F.conv2d(images, ones(1, 2, 3, 3), { padding: 1 }),
    () => F.conv2d({ input: images, weight: ones(1, 2, 3, 3), padding: [1, 1] }),
  ],
  maxPool2d: [
    () => F.maxPool2d(images, 2),
    () => F.maxPool2d(images, { kernelSize: 2 }),
    () => F.maxPool2d(images, [2, 2], 2),
    () => new nn.MaxPool2d(2).forward(images),
    () => new nn.MaxPool2d({ kernelSize: 2, stride: 2 }).forward(images),
  ],
  crossEntropy: [
    () => F.crossEntropy(x, classes),
    () => F.crossEntropy({ input: x, target: classes }),
    () => new nn.CrossEntropyLoss().forward(x, classes),
    () => F.nllLoss(F.logSoftmax(x, 1), classes),
  ],
  Linear: [
    () => seeded(() => new nn.Linear(3, 2).forward(x)),
    () => seeded(() => new nn.Linear(3, 2, true).forward(x)),
    () => seeded(() => new nn.Linear({ inFeatures: 3, outFeatures: 2 }).forward(x)),
    () => seeded(() => new nn.Linear(3, 2, { bias: true }).forward(x)),
  ],
  truncNormal: [
    () => seeded(() => nn.init.truncNormal(new Parameter(zeros(2, 3)), 0, 0.02)),
    () => seeded(() => nn.init.truncNormal(new Parameter(zeros(2, 3)), { std: 0.02 })),
  ],
};

function seeded<T>(make: () => T): T {
  manualSeed(7);
  return make();
}

async function written(result: Result): Promise<unknown> {
  const all = 'shape' in result ? [result] : result;
  return await Promise.all(
    all.map(async (one) => [one.dtype, one.shape, Array.from<number | bigint>((await one.array()) as never)]),
  );
}

test.each(Object.entries(rows))('%s: every spelling has one result', async (_, [first, ...others]) => {
  const expected = await written(seeded(first));
  for (const other of others) expect(await written(seeded(other)), String(other)).toEqual(expected);
});

test('options of arithmetic are checked, and never left out', () => {
  expect(() => classes.add(classes, { alpha: 0.5 })).toThrow(
    'add: alpha must be an integer for integer operands, got 0.5.',
  );
  expect(() => x.div(x, { roundingMode: 'round' as never })).toThrow(
    "roundingMode must be 'trunc' or 'floor'",
  );
  expect(() => x.mul(x, { alpha: 2 })).toThrow('alpha');
  expect(() => x.add(x, 2 as never)).toThrow('Write x.add(other, { alpha })');
});
