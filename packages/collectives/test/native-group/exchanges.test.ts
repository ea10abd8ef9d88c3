import { nativeOp } from '@ringrun/native';
import { describe, expect, test } from 'vitest';

import { BFloat16Bits, Float16Bits, InvalidArgumentError } from '@ringrun/core';

import {
  allGatherExchange,
  allToAllExchange,
  gatherExchange,
  scatterExchange,
} from '../../src/native-group/exchanges.ts';
import { reduceScatterOperands } from '../../src/native-group/operands.ts';

/** Rank 1 of 3. */
const place = { rank: 1, size: 3 };
const numbers = (...values: number[]) => Float32Array.from(values);
const upTo = (length: number) => Float32Array.from({ length }, (_, i) => i);
const none = [null, null, null];

describe('allGather', () => {
  test('sends the input to all ranks, and receives a part of the output from each', () => {
    const [input, output] = [numbers(7, 8), upTo(6)];
    const { op, sends, receives, dtype, root } = allGatherExchange(place, output, input);
    expect([op, dtype, root]).toEqual([nativeOp.allGather, 'float32', 0]);
    expect(sends.every((one) => one === input)).toBe(true);
    expect(receives).toEqual([numbers(0, 1), numbers(2, 3), numbers(4, 5)]);
    output[4] = 40;
    expect(receives[2]).toEqual(numbers(40, 5));
  });

  test('accepts a list of different lengths, and copies it', () => {
    const output = [upTo(5), upTo(2), upTo(1)];
    const { receives } = allGatherExchange(place, output, numbers(7, 8));
    expect(receives).toEqual(output);
    expect(receives).not.toBe(output);
    receives.forEach((one, rank) => {
      expect(one).toBe(output[rank]);
    });
  });

  test('accepts its own part of the output as input', () => {
    const output = upTo(6);
    const input = output.subarray(2, 4);
    const { sends, receives } = allGatherExchange(place, output, input);
    expect(receives[1]!.byteOffset).toBe(sends[1]!.byteOffset);
  });

  test('sends nothing for empty arrays', () => {
    expect(allGatherExchange(place, [upTo(4), upTo(0), upTo(0)], upTo(0))).toMatchObject({
      sends: none,
      receives: [upTo(4), null, null],
    });
  });

  test.each([Float16Bits, BFloat16Bits])('parts of a $name have the same class', (Bits) => {
    const { receives, dtype } = allGatherExchange(place, new Bits(6), new Bits(2));
    expect(dtype).toBe(Bits === Float16Bits ? 'float16' : 'bfloat16');
    for (const one of receives) expect(one).toBeInstanceOf(Bits);
  });
});

describe('gather', () => {
  test('sends its input to dst only', () => {
    const input = upTo(2);
    expect(gatherExchange(place, input, { dst: 2 })).toEqual({
      op: nativeOp.gather,
      sends: [null, null, input],
      receives: none,
      dtype: 'float32',
      root: 2,
      onDevice: false,
    });
  });

  test('receives a part from each rank on dst', () => {
    const output = [upTo(1), upTo(2), upTo(3)];
    const { sends, receives } = gatherExchange(place, numbers(7, 8), { dst: 1, output });
    expect(sends).toEqual([null, numbers(7, 8), null]);
    expect(receives).toEqual(output);
  });
});

describe('scatter', () => {
  test('receives its output from src only', () => {
    const output = upTo(2);
    expect(scatterExchange(place, output, {})).toEqual({
      op: nativeOp.scatter,
      sends: none,
      receives: [output, null, null],
      dtype: 'float32',
      root: 0,
      onDevice: false,
    });
  });

  test('sends a part to each rank on src', () => {
    const { sends, receives } = scatterExchange(place, numbers(7, 8), { src: 1, input: upTo(6) });
    expect(sends).toEqual([numbers(0, 1), numbers(2, 3), numbers(4, 5)]);
    expect(receives).toEqual([null, numbers(7, 8), null]);
  });
});

describe('allToAll', () => {
  test('divides arrays into equal parts by default', () => {
    const { op, sends, receives } = allToAllExchange(place, new Float32Array(3), upTo(3), {});
    expect(op).toBe(nativeOp.allToAll);
    expect(sends).toEqual([numbers(0), numbers(1), numbers(2)]);
    expect(receives).toEqual([numbers(0), numbers(0), numbers(0)]);
  });

  test('divides arrays by the split sizes', () => {
    const { sends, receives } = allToAllExchange(place, upTo(8), upTo(5), {
      inputSplitSizes: [0, 3, 2],
      outputSplitSizes: [4, 3, 1],
    });
    expect(sends).toEqual([null, numbers(0, 1, 2), numbers(3, 4)]);
    expect(receives).toEqual([numbers(0, 1, 2, 3), numbers(4, 5, 6), numbers(7)]);
  });

  test('accepts lists', () => {
    const input = [upTo(1), upTo(2), upTo(0)];
    const output = [upTo(4), upTo(2), upTo(3)];
    const { sends, receives } = allToAllExchange(place, output, input, {});
    expect(sends).toEqual([upTo(1), upTo(2), null]);
    expect(receives).toEqual(output);
  });
});

describe('reduceScatter', () => {
  test('has an input for each rank', () => {
    const output = numbers(7, 8);
    const [given, inputs] = reduceScatterOperands(place, output, upTo(6), {});
    expect(given).toBe(output);
    expect(inputs).toEqual([numbers(0, 1), numbers(2, 3), numbers(4, 5)]);
    expect(reduceScatterOperands(place, output, [upTo(5), upTo(2), upTo(0)], {})[1]).toEqual([
      upTo(5),
      upTo(2),
      upTo(0),
    ]);
  });
});

const two = upTo(2);
const sparse = new Array<Float32Array>(3);
sparse[1] = two;

test.each<[string, () => unknown, RegExp]>([
  [
    'an output that is too short',
    () => allGatherExchange(place, upTo(5), two),
    /^output has 5 elements, expected 6: 3 ranks, 2 elements of input for each\. .* pass a list/,
  ],
  [
    'an output of another dtype',
    () => allGatherExchange(place, new Int32Array(6), two),
    /^output has dtype int32, expected float32, the dtype of input$/,
  ],
  [
    'a list that is too short',
    () => allGatherExchange(place, [two, two], two),
    /^output is a list of 2, expected 3: one array for each rank of the group$/,
  ],
  [
    'a list with another dtype in it',
    () => allGatherExchange(place, [two, two, new Float64Array(2)], two),
    /^output\[2\] has dtype float64, expected float32, the dtype of input$/,
  ],
  [
    'a list with a value that is not an array',
    () => allGatherExchange(place, [two, two, 'x' as never], two),
    /^output\[2\] is 'x', expected one of Float32Array/,
  ],
  [
    'a list with holes',
    () => allGatherExchange(place, sparse, two),
    /^output\[0\] is undefined, expected one of Float32Array/,
  ],
  [
    'an own part that is too long',
    () => allGatherExchange(place, [two, upTo(3), two], two),
    /^output\[1\] is this rank's own part and has 3 elements, expected 2, the length of input$/,
  ],
  [
    'no input',
    () => allGatherExchange(place, two, undefined as never),
    /^input is undefined, expected one of/,
  ],
  ['no output', () => allGatherExchange(place, null as never, two), /^output is null, expected one of/],
  [
    'a plain Uint16Array',
    () => allGatherExchange(place, new Uint16Array(6) as never, new Float16Bits(2)),
    /^output is of class Uint16Array, .*new Float16Bits\(array\.buffer/,
  ],
  [
    'an output of gather on a rank other than dst',
    () => gatherExchange(place, two, { dst: 0, output: upTo(6) }),
    /^output is of class Float32Array on rank 1, expected it only on rank 0, which is dst: leave it out here$/,
  ],
  [
    'no output of gather on dst',
    () => gatherExchange(place, two, { dst: 1 }),
    /^output is missing on rank 1, which is dst: expected one array for all 3 ranks, or a list with one for each$/,
  ],
  [
    'an input of scatter on a rank other than src',
    () => scatterExchange(place, two, { input: [two, two, two] }),
    /^input is a list of 3 on rank 1, expected it only on rank 0, which is src/,
  ],
  [
    'no input of scatter on src',
    () => scatterExchange(place, two, { src: 1 }),
    /^input is missing on rank 1, which is src/,
  ],
  [
    'a src that is not a rank',
    () => scatterExchange(place, two, { src: 3 }),
    /^src is 3, expected a rank .* 0 to 2$/,
  ],
  [
    'a dst that is not a rank',
    () => gatherExchange(place, two, { dst: '1' as never }),
    /^dst is '1', expected a rank/,
  ],
  [
    'an array whose length is not a multiple',
    () => allToAllExchange(place, upTo(3), upTo(4), {}),
    /^input has 4 elements, expected a multiple of 3, .* inputSplitSizes/,
  ],
  [
    'sizes with a different sum',
    () => allToAllExchange(place, upTo(3), upTo(4), { inputSplitSizes: [1, 1, 1] }),
    /^inputSplitSizes is 1 \+ 1 \+ 1 = 3 elements, expected 4, the length of input$/,
  ],
  [
    'sizes for too few ranks',
    () => allToAllExchange(place, upTo(4), upTo(3), { outputSplitSizes: [2, 2] }),
    /^outputSplitSizes is \[2, 2\], expected 3 numbers of elements, one for each rank: integers from 0$/,
  ],
  [
    'negative sizes',
    () => allToAllExchange(place, upTo(3), upTo(3), { outputSplitSizes: [-1, 3, 1] }),
    /^outputSplitSizes is \[-1, 3, 1\], expected/,
  ],
  [
    'sizes that are not a list',
    () => allToAllExchange(place, upTo(3), upTo(3), { inputSplitSizes: 1 as never }),
    /^inputSplitSizes is 1, expected 3 numbers/,
  ],
  [
    'sizes together with a list',
    () => allToAllExchange(place, [two, two, two], [two, two, two], { inputSplitSizes: [2, 2, 2] }),
    /^inputSplitSizes was given with a list as input/,
  ],
  [
    'a list and an array',
    () => allToAllExchange(place, [two, two, two], upTo(6), {}),
    /^output is a list and input is not: expected two lists, or two arrays/,
  ],
  [
    'an empty list',
    () => allToAllExchange(place, [], [], {}),
    /^input is a list of 0, expected 3: one array for each rank/,
  ],
  [
    'an output of allToAll with another dtype',
    () => allToAllExchange(place, new Int8Array(3), upTo(3), {}),
    /^output has dtype int8, expected float32, the dtype of input$/,
  ],
  [
    'own parts of different lengths',
    () => allToAllExchange(place, [two, upTo(1), two], [two, two, two], {}),
    /^rank 1, which is this one, sends itself 2 elements of input and receives 1 into output/,
  ],
  [
    'an input of reduceScatter that is too long',
    () => reduceScatterOperands(place, two, upTo(7), {}),
    /^input has 7 elements, expected 6: 3 ranks, 2 elements of output for each/,
  ],
])('%s is refused', (_what, call, message) => {
  expect(call).toThrow(InvalidArgumentError);
  expect(call).toThrow(message);
});
