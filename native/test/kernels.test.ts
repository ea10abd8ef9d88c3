import { describe, expect, test } from 'vitest';

import { loadNative } from '@ringrun/native';

const native = loadNative();

/** Numbers of very different sizes, so that sums round: only the right order of additions gives the right bytes. */
function irregular(length: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32 - 0.5) * 10 ** (i % 9);
  });
}

/** What the kernels compute, element by element in float32 arithmetic. */
function reference(inputs: readonly Float32Array[], divisor: number): Float32Array {
  return inputs[0].map((first, i) => {
    const sum = inputs.slice(1).reduce((partial, input) => Math.fround(partial + input[i]), first);
    return Math.fround(sum / divisor);
  });
}

describe.each(native.kernelNames())('kernel %s', (kernel) => {
  const cases = [1, 2, 3, 4, 7].flatMap((inputCount) =>
    [1, 2, inputCount].map((outputCount) => ({ inputCount, outputCount })),
  );

  test.each(cases)(
    'adds $inputCount inputs into $outputCount outputs exactly as plain arithmetic does',
    (counts) => {
      for (const length of [0, 1, 3, 15, 16, 17, 64, 1001]) {
        for (const divisor of [1, 3]) {
          const inputs = Array.from({ length: counts.inputCount }, (_, i) => irregular(length, i + 1));
          const outputs = Array.from({ length: counts.outputCount }, () => new Float32Array(length));
          native.reduceWith(kernel, inputs, outputs, divisor);
          for (const output of outputs) expect(output).toEqual(reference(inputs, divisor));
        }
      }
    },
  );

  test('may write over its inputs, at any alignment', () => {
    const memory = Array.from({ length: 3 }, (_, i) => irregular(104, i + 1));
    const slices = memory.map((array) => array.subarray(1, 102));
    const expected = reference(
      slices.map((slice) => slice.slice()),
      3,
    );
    const outside = memory.map((array) => [array[0], array[102], array[103]]);
    native.reduceWith(kernel, slices, slices, 3);
    for (const slice of slices) expect(slice).toEqual(expected);
    expect(memory.map((array) => [array[0], array[102], array[103]])).toEqual(outside);
  });
});

test('the slowest kernel is plain C++', () => {
  expect(native.kernelNames().at(-1)).toBe('plain');
});
