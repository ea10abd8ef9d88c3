import { expect, test } from 'vitest';
import { otherRuntimeProblem } from '../src/index.ts';

test.each([
  [{ node: '24.3.0', bun: '1.4.5' }, 'got Bun 1.4.5'],
  [{ node: '24.3.0', deno: '2.9.6' }, 'got Deno 2.9.6'],
])('%o cannot connect processes', (versions, expected) => {
  expect(otherRuntimeProblem(versions)).toContain(expected);
});

test('Node.js can', () => {
  expect(otherRuntimeProblem()).toBeUndefined();
});
