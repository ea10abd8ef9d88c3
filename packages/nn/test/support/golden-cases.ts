import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fill } from './fill.ts';
import { expectSummary, type Summary } from './summary.ts';

/** The output of `operator_cases` in test/golden/common.py. */
export interface GoldenCase {
  readonly name: string;
  readonly inputs: readonly (readonly number[])[];
  readonly output: Summary & { readonly shape: readonly number[] };
  readonly gradients: readonly Summary[];
}

/** Functions under the names of the golden cases. */
export type GoldenFunctions = Readonly<Record<string, (...inputs: Tensor[]) => Tensor>>;

/** The output of a script of test/golden: `goldenFile('tensors')` is test/golden/tensors.json. */
export function goldenFile(name: string): unknown {
  const file = new URL(`../../../../test/golden/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** A table of test/golden/tensors.json. */
export function goldenCases(table: string): readonly GoldenCase[] {
  return (goldenFile('tensors') as Record<string, readonly GoldenCase[]>)[table];
}

/** Compares value and gradients of a function with those of torch, for inputs from `fillInput`. */
export async function checkCase(
  { name, inputs, output, gradients }: GoldenCase,
  functions: GoldenFunctions,
  fillInput = fill,
): Promise<void> {
  const parameters = inputs.map((shape, seed) => new Parameter(fillInput(shape, seed), shape));
  const result = functions[name](...parameters);
  expect(result.shape).toEqual(output.shape);
  expectSummary('output', (await result.array()) as Float32Array, output);
  await result
    .mul(tensor(fill(output.shape, 50), output.shape))
    .sum()
    .backward();
  for (const [position, { grad }] of parameters.entries()) {
    expectSummary(`gradient of input ${position}`, grad!, gradients[position]);
  }
}

/** Tests that values and gradients of the functions equal those of torch. */
export function checkGolden(cases: readonly GoldenCase[], functions: GoldenFunctions): void {
  describe('values and gradients equal those of torch', () => {
    test.each(cases)('$name', (one) => checkCase(one, functions));

    test('of every function here', () => {
      expect(cases.map(({ name }) => name)).toEqual(Object.keys(functions));
    });
  });
}
