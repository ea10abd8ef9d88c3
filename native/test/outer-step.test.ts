import { expect, test } from 'vitest';
import { loadNative } from '@ringrun/native';

const native = loadNative();
const { fround } = Math;
const sizes = [0, 1, 7, 8, 9, 31, 257];

/** Between −1 and 1, one element away from any alignment. */
function numbers(count: number, seed: number): Float32Array {
  const all = Float32Array.from({ length: count + 1 }, (_, i) => Math.sin(seed + 1.7 * i));
  return all.subarray(1);
}

/** An outer step of one number; products of two float32 numbers are exact in double precision. */
function stepOf(
  { parameter, velocity, gradient }: { parameter: number; velocity: number; gradient: number },
  { lr, momentum, nesterov }: { lr: number; momentum: number; nesterov: boolean },
): { parameter: number; velocity: number } {
  const next = fround(fround(momentum) * velocity + gradient);
  const direction = nesterov ? fround(fround(momentum) * next + gradient) : next;
  return { parameter: fround(parameter - fround(lr) * direction), velocity: next };
}

test.each([
  { lr: 0.7, momentum: 0.9, nesterov: true },
  { lr: 0.3, momentum: 0.8, nesterov: false },
])('an outer step equals plain arithmetic, bit for bit: %o', (options) => {
  for (const count of sizes) {
    const [parameters, velocities, gradient] = [1, 2, 3].map((seed) => numbers(count, seed));
    const expected = Array.from(parameters, (parameter, i) =>
      stepOf({ parameter, velocity: velocities[i], gradient: gradient[i] }, options),
    );
    native.outerStep(parameters, velocities, gradient, options.lr, options.momentum, options.nesterov);
    expect([...parameters]).toEqual(expected.map(({ parameter }) => parameter));
    expect([...velocities]).toEqual(expected.map(({ velocity }) => velocity));
  }
});

test('an outer step without a momentum subtracts the scaled gradient', () => {
  for (const count of sizes) {
    const [parameters, gradient] = [1, 2].map((seed) => numbers(count, seed));
    const expected = Array.from(parameters, (value, i) => fround(value - fround(0.7) * gradient[i]));
    native.outerStep(parameters, undefined, gradient, 0.7, 0, false);
    expect([...parameters]).toEqual(expected);
  }
});

test('differences and mixtures equal plain arithmetic', () => {
  for (const count of sizes) {
    const [values, from, other] = [1, 2, 3].map((seed) => numbers(count, seed));
    const differences = Array.from(values, (value, i) => fround(from[i] - value));
    native.subtractFrom(values, from);
    expect([...values]).toEqual(differences);
    const share = fround(0.2);
    const mixed = Array.from(values, (value, i) => fround(share * value + fround(1 - share) * other[i]));
    native.mix(values, other, 0.2);
    expect([...values]).toEqual(mixed);
  }
});

test('arrays of different sizes are refused', () => {
  const [short, long] = [new Float32Array(3), new Float32Array(4)];
  const message = 'expected arrays of 4 elements, got one of 3';
  expect(() => {
    native.subtractFrom(long, short);
  }).toThrow(message);
  expect(() => {
    native.outerStep(long, undefined, short, 1, 0, false);
  }).toThrow(message);
  expect(() => {
    native.outerStep(long, short, long, 1, 0.9, false);
  }).toThrow(message);
  expect(() => {
    native.mix(long, short, 0.5);
  }).toThrow(message);
});
