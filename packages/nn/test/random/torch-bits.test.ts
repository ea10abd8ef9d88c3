import { expect, test } from 'vitest';
import { F, manualSeed, nn, tensor } from '../../src/index.ts';
import { defaultGenerator } from '../../src/random/generator.ts';
import { bits, dataOf, golden } from '../support/golden-operators.ts';
import '../support/one-thread.ts';

test('after manualSeed(1), initial parameters are bit-identical to torch’s', () => {
  manualSeed(1);
  const modules = [
    new nn.Conv2d(1, 20, 5),
    new nn.Conv2d(6, 4, [3, 2], { groups: 2, bias: false }),
    new nn.Linear(7, 3),
    new nn.Embedding(7, 5, { paddingIdx: 3 }),
    new nn.LayerNorm([2, 3]),
    new nn.Embedding(3, 4),
    new nn.Embedding(3, 5),
    ...Array.from({ length: 299 }, (_, k) => new nn.Linear(k + 1, 2)),
  ];
  const [first] = dataOf(modules);
  expect([...first.subarray(0, 4)]).toEqual(golden.initialParameters.first.map(Math.fround));
  expect(bits(dataOf(modules))).toBe(golden.initialParameters.sha256);
});

test('normal numbers are bit-identical to torch’s', () => {
  manualSeed(5);
  const arrays = [3, 2, 16, 5, 17, 100_000, 15, 31].map((size) => new Float32Array(size));
  for (const array of arrays) defaultGenerator.fillNormal(array, 0.5, 0.02);
  expect([...arrays[0]]).toEqual(golden.normalNumbers.first.map(Math.fround));
  expect(bits(arrays)).toBe(golden.normalNumbers.sha256);
});

test('dropout after manualSeed(6) drops the same elements as Philox in Python', async () => {
  manualSeed(6);
  const ones = tensor(new Float32Array(1001).fill(1));
  const arrays: Float32Array[] = [];
  for (const p of [0.5, 0, 0.3, 1, 0.9]) arrays.push((await F.dropout(ones, p).array()) as Float32Array);
  expect([...arrays[0].subarray(0, 8)]).toEqual(golden.dropouts.first.map(Math.fround));
  expect(bits(arrays)).toBe(golden.dropouts.sha256);
});
