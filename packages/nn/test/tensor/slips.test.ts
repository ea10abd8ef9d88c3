import { expect, test } from 'vitest';
import { ArgumentError, nn, zeros } from '../../src/index.ts';

const x = zeros(2, 3);
const untyped = x as unknown as number;
const text = x as unknown as string;

test.each<[string, () => unknown, string]>([
  ['x + 1', () => untyped + 1, 'Use x.add(y)'],
  ['x > 0', () => untyped > 0, 'Use x.add(y)'],
  ['-x', () => -untyped, 'await x.item()'],
  ['JSON.stringify(x)', () => JSON.stringify({ x }), '[...(await x.array())]'],
])('%s is an error with the expression to write', (_, run, message) => {
  expect(run).toThrow(ArgumentError);
  expect(run).toThrow(message);
});

test('a template shows the type', () => {
  expect(`is ${text}`).toBe('is Tensor float32[2,3]');
});

test('lists of a module are arrays', () => {
  const model = new nn.Sequential(new nn.Linear(3, 4), new nn.BatchNorm1d(4));
  expect(model.namedParameters().map(([name]) => name)).toEqual(['0.weight', '0.bias', '1.weight', '1.bias']);
  expect(model.parameters().filter(({ shape }) => shape.length === 1)).toHaveLength(3);
  expect(model.buffers()).toHaveLength(3);
  expect(model.modules()).toHaveLength(3);
  expect(model.children().length).toBe(2);
});
