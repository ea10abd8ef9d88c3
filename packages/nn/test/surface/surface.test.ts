import { isFloat } from '../../src/dtype.ts';
import { describe, expect, test } from 'vitest';
import * as all from '../../src/index.ts';
import {
  ArgumentError,
  F,
  full,
  NnError,
  Parameter,
  ShapeError,
  Tensor,
  type DType,
  type TensorData,
} from '../../src/index.ts';
import { evaluate } from '../../src/compiler/compile.ts';
import { fill } from '../support/fill.ts';
import { functionCalls, notFunctions, packageCalls } from './functions.ts';
import { notCalled, tensorCalls } from './tensors.ts';
import { tensorNames } from '../../src/torch-names/index.ts';
import type { CallTable } from './calls.ts';
import '../support/one-thread.ts';

// Every function with tensors without elements, of one number, and of other dtypes: it computes, with its gradient, or throws
// an error of ringrun. None may end the process, hang, or show an onnxruntime error.

const shapes = [[], [0], [0, 3], [2, 0], [0, 2, 4, 4], [0, 2, 4, 4, 4], [2, 3, 0], [1, 1, 1]];
const otherShapes = [
  [0, 3],
  [3, 3],
];
const given: readonly (readonly [DType, readonly number[]])[] = [
  ...shapes.flatMap((shape) => [['float32', shape] as const, ['bfloat16', shape] as const]),
  ...otherShapes.flatMap((shape) => [['int64', shape] as const, ['bool', shape] as const]),
];

const tables: Readonly<Record<string, CallTable>> = {
  'x.': tensorCalls,
  'F.': functionCalls,
  '': packageCalls,
};

/** `npm run test:full` computes each result alone, in a program of its own. */
const isFull = process.env['RINGRUN_TESTS'] === 'full';

/** A result of a call that did not throw. */
interface Built {
  readonly label: string;
  readonly result: unknown;
}

describe.each(Object.entries(tables))('%s', (prefix, table) => {
  test.each(Object.entries(table))(`${prefix}%s computes or throws`, async (_, calls) => {
    let computed = 0;
    for (const call of calls) {
      const built: Built[] = [];
      for (const [dtype, shape] of given) {
        const label = describeCall(call, dtype, shape);
        const x = leaf(dtype, shape);
        const failure = await failureOf(async () => {
          built.push({ label, result: await call(x) });
        });
        expectRefusal(failure, label);
      }
      computed += isFull ? await computeEach(built) : await computeTogether(built);
    }
    expect(computed).toBeGreaterThan(0);
  });
});

/** Returns the number of results that were computed. */
async function computeEach(built: readonly Built[]): Promise<number> {
  let computed = 0;
  for (const { label, result } of built) {
    const failure = await failureOf(() => compute(result));
    if (failure === undefined) computed += 1;
    expectRefusal(failure, label);
  }
  return computed;
}

/** Computes the results in one program, which takes a tenth of the time. If that fails, each one alone shows which. */
async function computeTogether(built: readonly Built[]): Promise<number> {
  const tensors = built.flatMap(({ result }) => tensorsOf(result));
  const failure = await failureOf(async () => {
    const arrays = await readTogether(tensors);
    expect(arrays.map(({ length }) => length)).toEqual(tensors.map((one) => one.numel()));
    await differentiate(tensors);
  });
  return failure === undefined ? built.length : await computeEach(built);
}

async function readTogether(tensors: readonly Tensor[]): Promise<TensorData[]> {
  if (tensors.length === 0) return [];
  const values = tensors.map(({ value }) => value);
  return [...(await evaluate(values))];
}

test('every method of a tensor, every function of F and of the package is called', () => {
  expect([...Object.keys(tensorCalls), ...notCalled].sort()).toEqual(namesOf(Tensor.prototype).sort());
  expect(Object.keys(functionCalls).sort()).toEqual(Object.keys(F).sort());
  expect([...Object.keys(packageCalls), ...notFunctions].sort()).toEqual(Object.keys(all).sort());
});

function leaf(dtype: DType, shape: readonly number[]): Tensor {
  if (dtype === 'bfloat16') return new Parameter(fill(shape, 1), shape).bfloat16();
  return dtype === 'float32' ? new Parameter(fill(shape, 1), shape) : full(shape, 1, { dtype });
}

/** Reads every tensor of a result, and computes the gradient of the floats. */
async function compute(result: unknown): Promise<void> {
  const tensors = tensorsOf(result);
  for (const one of tensors) expect((await one.array()).length).toBe(one.numel());
  await differentiate(tensors);
}

async function differentiate(tensors: readonly Tensor[]): Promise<void> {
  const trained = tensors.filter((one) => isFloat(one) && one.requiresGrad);
  if (trained.length === 0) return;
  await trained
    .map((one) => one.sum())
    .reduce((sum, one) => sum.add(one))
    .backward();
}

function tensorsOf(result: unknown): Tensor[] {
  if (result instanceof Tensor) return [result];
  if (Array.isArray(result)) return result.flatMap(tensorsOf);
  const isPair = typeof result === 'object' && result !== null && 'values' in result && 'indices' in result;
  return isPair ? [result.values, result.indices].flatMap(tensorsOf) : [];
}

function expectRefusal(failure: unknown, label: string): void {
  expect(failure === undefined || isRefusal(failure), `${label}: ${String(failure)}`).toBe(true);
}

/** An error for the caller, before or in a run. */
function isRefusal(failure: unknown): boolean {
  return failure instanceof ShapeError || failure instanceof ArgumentError || isNotTrained(failure);
}

/** The result does not depend on x. */
function isNotTrained(failure: unknown): boolean {
  return failure instanceof NnError && failure.code === 'ERR_BACKWARD';
}

function namesOf(prototype: object): string[] {
  const parent: unknown = Object.getPrototypeOf(prototype);
  // Without torch's names, which answer with ringrun's when another test of this process has loaded torch-names/entry.ts.
  const own = Object.getOwnPropertyNames(prototype).filter(
    (name) => !Object.hasOwn(tensorNames, name) && !/_.|^[a-z0-9]+_$/.test(name),
  );
  return parent === Object.prototype ? own : [...new Set([...own, ...namesOf(parent as object)])];
}

function describeCall(call: unknown, dtype: DType, shape: readonly number[]): string {
  return `${String(call)} of ${dtype}[${shape.join()}]`;
}

async function failureOf(run: () => Promise<void>): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return undefined;
}
