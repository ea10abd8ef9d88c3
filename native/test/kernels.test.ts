import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import type { NativeTensor } from '@ringrun/native';
import { loadNative, nativeDType, nativeReduceOp } from '@ringrun/native';

import { expectElements, fill, reduced, references } from './support/reference.ts';
import type { DType, Op, Reference } from './support/reference.ts';

const native = loadNative();

const shapes = [1, 2, 3, 4, 7].flatMap((inputs) => [1, 2, inputs].map((outputs) => ({ inputs, outputs })));
const lengths = [0, 1, 3, 15, 16, 17, 63, 65, 131];
const cases = (Object.entries(references) as [DType, Reference][]).flatMap(([dtype, reference]) =>
  (Object.keys(reference.combine) as Op[]).map((op) => ({ dtype, op, reference })),
);

describe.each(native.kernelNames())('kernel %s', (kernel) => {
  test.each(cases)('$op of $dtype equals plain arithmetic exactly', ({ dtype, op, reference }) => {
    const divisor = op === 'AVG' ? 3 : 1;
    for (const { inputs: inputCount, outputs: outputCount } of shapes) {
      for (const length of lengths) {
        const inputs = Array.from({ length: inputCount }, (_, i) =>
          fill(reference.make(length), reference, i + 1),
        );
        const expected = reduced(reference, op, inputs, divisor);
        const outputs = Array.from({ length: outputCount }, () => reference.make(length));
        native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], inputs, outputs, divisor);
        for (const output of outputs) {
          expectElements(
            reference,
            output,
            expected,
            `${inputCount} inputs, ${outputCount} outputs, length ${length}`,
          );
        }
      }
    }
  });

  test.each(cases)(
    '$op of $dtype may write over its inputs, at any alignment',
    ({ dtype, op, reference }) => {
      const memory = Array.from({ length: 3 }, (_, i) => fill(reference.make(104), reference, i + 1));
      const slices = memory.map((array) => array.subarray(1, 102));
      const expected = reduced(reference, op, slices, 1);
      const outside = memory.map((array) => [array[0], array[102], array[103]]);
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], slices, slices, 1);
      for (const slice of slices) expectElements(reference, slice, expected, 'in place');
      expect(memory.map((array) => [array[0], array[102], array[103]])).toEqual(outside);
    },
  );

  const casesOf16Bits = cases.filter(({ dtype }) => dtype === 'float16' || dtype === 'bfloat16');

  test.each(casesOf16Bits)(
    '$op of $dtype is the same in every block, even in place',
    ({ dtype, op, reference }) => {
      const inputs = [1, 2, 3].map((seed) => fill(reference.make(4 * 512 + 37), reference, seed));
      const expected = reduced(reference, op, inputs, 1);
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], inputs, inputs, 1);
      for (const input of inputs) expectElements(reference, input, expected, 'several blocks');
    },
  );

  test.each([
    ['AVG', 'int32', new Int32Array(1)],
    ['BAND', 'float32', new Float32Array(1)],
    ['BXOR', 'bfloat16', new Uint16Array(1)],
  ] as const)('has no %s of %s', (op, dtype, array) => {
    expect(() => {
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], [array, array], [array], 2);
    }).toThrow(/does not support this op/);
  });
});

test.each([
  [new Float64Array(1), nativeDType.float32, /elements of 8 bytes, expected .* 4 bytes/],
  [new Int16Array(1), nativeDType.uint8, /elements of 2 bytes, expected .* 1 bytes/],
  [new DataView(new ArrayBuffer(8)), nativeDType.float64, /no typed array, expected .* 8 bytes/],
  [[1], nativeDType.int8, /no typed array/],
  [new Float32Array(1), 0, /dtype is 0, expected one of nativeDType: a number from 1 to 10/],
  [new Float32Array(1), 257, /dtype is 257/],
  [new Float32Array(1), undefined, /dtype is undefined/],
])('rejects %o for the dtype %s', (array, dtype, message) => {
  const tensor = array as NativeTensor;
  const reduce = () => {
    native.reduceWith('plain', dtype as number, nativeReduceOp.SUM, [tensor], [tensor], 1);
  };
  expect(reduce).toThrow(TypeError);
  expect(reduce).toThrow(message);
});

test('the slowest kernel is plain C++', () => {
  expect(native.kernelNames().at(-1)).toBe('plain');
});

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'every instruction set that Linux reports has its kernels',
  () => {
    const flags = new Set(/^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))![1].split(' '));
    const needed = {
      avx512: ['avx512f', 'avx512bw', 'avx512dq'],
      avx2: ['avx2', 'f16c'],
      sse2: [],
      plain: [],
    };
    const expected = Object.entries(needed).filter(([, names]) => names.every((name) => flags.has(name)));
    expect(native.kernelNames()).toEqual(expected.map(([name]) => name));
  },
);
