import { expect, test } from 'vitest';
import { BufferTensor, manualSeed, nn, optim, Parameter } from '../../src/index.ts';
import { goldenFile } from '../support/golden-cases.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

const { init } = nn;

// PyTorch's numbers, as written by `test/golden/init.py`.
const golden = goldenFile('init') as {
  cases: readonly { name: string; shape: readonly number[]; data: readonly number[] }[];
  gains: readonly { nonlinearity: string; param?: number; gain: number }[];
};

const cases: Readonly<Record<string, (weight: Parameter) => Parameter>> = {
  uniform: (w) => init.uniform(w, { a: -2, b: 0.5 }),
  'uniform, default': (w) => init.uniform(w),
  normal: (w) => init.normal(w, { mean: 0.3, std: 2 }),
  'normal of few': (w) => init.normal(w),
  truncNormal: (w) => init.truncNormal(w),
  'truncNormal with options': (w) => init.truncNormal(w, { mean: 0.5, std: 0.4, a: 0.1, b: 1.5 }),
  'truncNormal of few': (w) => init.truncNormal(w, { std: 0.02, a: -0.02, b: 0.02 }),
  'truncNormal of a tail': (w) => init.truncNormal(w, { a: 2, b: 4 }),
  'truncNormal of a narrow part': (w) => init.truncNormal(w, { mean: 3, std: 0.5, a: -1, b: 1 }),
  constant: (w) => init.constant(w, 0.3),
  ones: (w) => init.ones(w),
  zeros: (w) => init.zeros(w),
  eye: (w) => init.eye(w),
  dirac: (w) => init.dirac(w),
  'dirac of groups': (w) => init.dirac(w, 2),
  'dirac of volumes': (w) => init.dirac(w),
  xavierUniform: (w) => init.xavierUniform(w),
  'xavierUniform with gain': (w) => init.xavierUniform(w, { gain: 1.7 }),
  xavierNormal: (w) => init.xavierNormal(w, { gain: init.calculateGain('tanh') }),
  kaimingUniform: (w) => init.kaimingUniform(w),
  'kaimingUniform with options': (w) =>
    init.kaimingUniform(w, { a: 0.2, mode: 'fanOut', nonlinearity: 'leakyRelu' }),
  kaimingNormal: (w) => init.kaimingNormal(w, { mode: 'fanOut', nonlinearity: 'relu' }),
  orthogonal: (w) => init.orthogonal(w),
  'orthogonal of more rows': (w) => init.orthogonal(w, { gain: 0.7 }),
  sparse: (w) => init.sparse(w, 0.4),
  'sparse with std': (w) => init.sparse(w, 0.5, { std: 2 }),
};

/** Computed with another library's decomposition. */
const isRounded = (name: string) => name.startsWith('orthogonal');

const newWeight = (shape: readonly number[]) =>
  new Parameter(new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(7), shape);

test.each(golden.cases)('$name has torch’s numbers', ({ name, shape, data }) => {
  const weight = newWeight(shape);
  manualSeed(3);
  expect(cases[name](weight)).toBe(weight);
  if (isRounded(name)) expectClose(name, weight.data, data, 1e-6);
  else expect([...weight.data]).toEqual(data.map(Math.fround));
});

test('every case of init.py is tested', () => {
  expect(golden.cases.map(({ name }) => name)).toEqual(Object.keys(cases));
});

test.each(golden.gains)('calculateGain($nonlinearity, $param)', ({ nonlinearity, param, gain }) => {
  const name = nonlinearity.replace('leaky_relu', 'leakyRelu') as nn.init.Nonlinearity;
  expect(init.calculateGain(name, param)).toBeCloseTo(gain, 12);
});

test('orthonormal columns and rows', () => {
  manualSeed(1);
  const [rows, columns] = [5, 9];
  const { data } = init.orthogonal(newWeight([rows, columns]), { gain: 3 });
  for (let a = 0; a < rows; a += 1) {
    for (let b = 0; b < rows; b += 1) {
      let product = 0;
      for (let i = 0; i < columns; i += 1) product += data[a * columns + i] * data[b * columns + i];
      expect(product).toBeCloseTo(a === b ? 9 : 0, 5);
    }
  }
});

test('changes a buffer, and outdates values computed from its earlier elements', async () => {
  const buffer = new BufferTensor(Float32Array.of(1, 2));
  const doubled = buffer.mul(2);
  expect(init.ones(buffer)).toBe(buffer);
  expect(buffer.data).toEqual(Float32Array.of(1, 1));
  await expect(doubled.array()).rejects.toThrow('before nn.init.ones() changed it');
});

test('rejects tensors that it cannot fill, and changes nothing', () => {
  const vector = newWeight([3]);
  const before = vector.data.slice();
  expect(() => init.eye(vector)).toThrow('nn.init.eye: expected a tensor of 2 dimensions, got float32[3].');
  expect(() => init.xavierUniform(vector)).toThrow('expected a tensor of at least 2 dimensions');
  expect(() => init.dirac(vector)).toThrow('expected a tensor of 3 to 5 dimensions');
  expect(() => init.constant(vector, '1' as never)).toThrow('value must be a number, got 1.');
  expect(() => init.uniform(vector, { low: 1 } as never)).toThrow('nn.init.uniform');
  expect(() => init.uniform(vector, { a: 2, b: 1 })).toThrow('a must be at most b, got 2 and 1.');
  expect(() => init.truncNormal(vector, { std: 0 })).toThrow('std must be above 0, got 0.');
  expect(() => init.truncNormal(vector, { a: 3, b: Infinity })).toThrow('Use finite bounds.');
  expect(() => init.ones([1, 2] as never)).toThrow(
    'expected a Parameter or a BufferTensor, got an object of Array.',
  );
  const [matrix, kernels] = [newWeight([2, 3]), newWeight([3, 1, 2])];
  expect(() => init.kaimingUniform(matrix, { mode: 'fan_in' as never })).toThrow(
    "mode must be 'fanIn' or 'fanOut', got 'fan_in'.",
  );
  expect(() => init.calculateGain('gelu' as never)).toThrow('expected one of linear,');
  expect(() => init.dirac(kernels, 2)).toThrow('groups must divide the 3 output channels, got 2 groups.');
  expect(() => init.sparse(matrix, 2)).toThrow('sparsity must lie between 0 and 1, got 2.');
  for (const { data } of [vector, matrix, kernels]) expect(data.every((element) => element === 7)).toBe(true);
  expect(vector.data).toEqual(before);
});

test('rejects a parameter of a step that was not awaited', async () => {
  const weight = newWeight([2]);
  const optimizer = new optim.SGD([weight], { lr: 0.1 });
  await weight.sum().backward();
  const step = optimizer.step();
  expect(() => init.zeros(weight)).toThrow('nn.init.zeros: optimizer.step() is still running.');
  await step;
});
