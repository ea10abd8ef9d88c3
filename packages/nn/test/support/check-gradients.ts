import { expect } from 'vitest';
import { evaluate } from '../../src/compiler/compile.ts';
import type { Value } from '../../src/graph/node.ts';
import { add, mul } from '../../src/ops/elementwise.ts';
import { reduceSum } from '../../src/ops/reduction.ts';
import { input } from '../../src/ops/source.ts';
import * as autograd from '../../src/autograd/index.ts';
import { Parameter } from '../../src/tensor/parameter.ts';
import { Tensor } from '../../src/tensor/tensor.ts';
import { fill } from './fill.ts';
import { directionalDerivative, expectClose, largest } from './numeric.ts';
import { interpret } from './reference.ts';
import './one-thread.ts';

/** A function of some trainable tensors. */
export interface Differentiable {
  /** Shapes of the tensors; each holds `fill(shape, position)`. */
  readonly leaves: readonly (readonly number[])[];
  /** Returns the values to differentiate, in graphs over the leaves. */
  readonly build: (...leaves: Value[]) => readonly Value[];
}

/** float32's rounding, 6e-8 per operation, in sums of up to a hundred products: 5e-7 is measured. */
export const roundingOfSums = 2e-6;

/**
 * Checks values and gradients of a training step, compiled as for users, against the reference interpreter: the values
 * directly, the gradients against central differences of the reference, in every leaf.
 *
 * @param tolerance see `expectClose`
 * @returns the values that were differentiated, for inspecting the graph
 */
export async function checkGradients(
  { leaves, build }: Differentiable,
  tolerance = roundingOfSums,
): Promise<readonly Value[]> {
  const parameters = leaves.map((shape, position) => new Parameter(fill(shape, position), shape));
  const values = build(...parameters.map(({ value }) => value));
  await checkValues(values, tolerance);

  const loss = weightedSum(values);
  await new Tensor(loss).backward();
  for (const [position, parameter] of parameters.entries()) {
    checkLeaf(`gradient of leaf ${position}`, loss, parameter, tolerance);
  }
  return values;
}

/**
 * Checks second derivatives against central differences of the reference: the gradients of a number that depends on every element
 * of the gradients. Returns false if these do not depend on the leaves.
 */
export async function checkSecondDerivatives(
  { leaves, build }: Differentiable,
  tolerance = 10 * roundingOfSums,
): Promise<boolean> {
  const parameters = leaves.map((shape, position) => new Parameter(fill(shape, position), shape));
  const loss = new Tensor(weightedSum(build(...parameters.map(({ value }) => value))));
  const slopes = autograd.grad(loss, parameters, { createGraph: true, materializeGrads: true });
  const sum = new Tensor(weightedSum(slopes.map(({ value }) => value)));
  if (!sum.requiresGrad) return false;
  await sum.backward();
  for (const [position, parameter] of parameters.entries()) {
    checkLeaf(`second derivative of leaf ${position}`, sum.value, parameter, tolerance, true);
  }
  return true;
}

/** Checks values against the reference interpreter. */
export async function checkValues(values: readonly Value[], tolerance = roundingOfSums): Promise<void> {
  const outputs = await evaluate(values);
  for (const [position, expected] of interpret(values).entries()) {
    expectClose(`value ${position}`, outputs[position], expected, tolerance);
  }
}

/** A number that depends on every element of every value with a distinct weight. */
function weightedSum(values: readonly Value[]): Value {
  return values
    .map(({ shape }, position) => input('float32', shape, { data: fill(shape, 50 + position) }))
    .map((weights, position) => reduceSum(mul(values[position], weights)))
    .reduce((sum, part) => add(sum, part));
}

/** Compares every element of a small gradient; of a large one, some spread over it and all together in one irregular direction. */
function checkLeaf(what: string, loss: Value, leaf: Parameter, tolerance: number, mayVanish = false): void {
  const grad = leaf.grad ?? new Float32Array(leaf.data.length);
  const lossAt = (point: Float64Array) => interpret([loss], new Map([[leaf.value, point]]))[0][0];
  const point = Float64Array.from(leaf.data);
  const places = spread(grad.length, 32);
  const expected = places.map((place) =>
    directionalDerivative(lossAt, point, (other) => Number(other === place)),
  );
  if (!mayVanish) expect(largest(expected), `${what}: must not vanish`).toBeGreaterThan(1e-3);
  else if (largest(expected) < 1e-6) {
    expect(largest(grad), what).toBeLessThan(1e-5);
    return;
  }
  expectClose(
    what,
    places.map((place) => grad[place]),
    expected,
    tolerance,
  );
  if (places.length === grad.length) return;

  const direction = fill([grad.length], 99);
  const along = grad.reduce((sum, slope, place) => sum + slope * direction[place], 0);
  const exact = directionalDerivative(lossAt, point, (place) => direction[place]);
  const scale = largest(expected) * Math.sqrt(grad.length);
  expectClose(`${what}, all elements`, [along], [exact], tolerance, scale);
}

/** `count` places spread evenly over `length`, all of them if `length` is smaller. */
function spread(length: number, count: number): number[] {
  if (length <= count) return Array.from({ length }, (_, place) => place);
  return Array.from({ length: count }, (_, k) => Math.floor((k * (length - 1)) / (count - 1)));
}
