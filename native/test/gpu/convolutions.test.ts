import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { GpuConvolution } from '@ringrun/native';
import { fakeDevice, isFake } from './fake-device.ts';

const log = join(mkdtempSync(join(tmpdir(), 'ringrun-')), 'calls.log');
process.env['RINGRUN_FAKE_GPU_LOG'] = log;
const device = fakeDevice();

const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);
const integers = (shape: readonly number[], seed: number) =>
  Float32Array.from({ length: sizeOf(shape) }, (_, i) => ((i * 7 + seed * 3) % 9) - 4);

interface Case {
  input: number[];
  weight: number[];
  padding: number[];
  stride: number[];
  dilation: number[];
  groups?: number;
}

const outputOf = ({ input, weight, padding, stride, dilation }: Case) => [
  input[0],
  weight[0],
  ...padding.map((pad, axis) => {
    const extent = dilation[axis] * (weight[axis + 2] - 1) + 1;
    return Math.floor((input[axis + 2] + 2 * pad - extent) / stride[axis]) + 1;
  }),
];

/** The indices of every product x · w that is added to an element of y. */
function* productsOf(one: Case): Generator<[x: number, w: number, y: number]> {
  const output = outputOf(one);
  const { input, weight, padding, stride, dilation, groups = 1 } = one;
  const index = (shape: readonly number[], at: readonly number[]) =>
    at.reduce((sum, value, axis) => sum * shape[axis] + value, 0);
  const positions = (shape: readonly number[]) =>
    Array.from({ length: sizeOf(shape) }, (_, flat) => {
      const at: number[] = [];
      let rest = flat;
      for (const size of shape.toReversed()) {
        at.unshift(rest % size);
        rest = Math.floor(rest / size);
      }
      return at;
    });
  for (const [out, channel, ...taps] of positions(weight)) {
    for (const [n, ...to] of positions([output[0], ...output.slice(2)])) {
      const from = to.map((at, axis) => at * stride[axis] + taps[axis] * dilation[axis] - padding[axis]);
      if (from.some((at, axis) => at < 0 || at >= input[axis + 2])) continue;
      const inputChannel = Math.floor(out / (weight[0] / groups)) * weight[1] + channel;
      yield [
        index(input, [n, inputChannel, ...from]),
        index(weight, [out, channel, ...taps]),
        index(output, [n, out, ...to]),
      ];
    }
  }
}

/** [N, C, …] to [N, …, C]. */
function channelsLast(values: Float32Array, shape: readonly number[]): Float32Array {
  const [n, c] = shape;
  const inner = sizeOf(shape.slice(2));
  const moved = new Float32Array(values.length);
  for (let i = 0; i < n; i += 1)
    for (let j = 0; j < c; j += 1)
      for (let k = 0; k < inner; k += 1) moved[(i * inner + k) * c + j] = values[(i * c + j) * inner + k];
  return moved;
}

/** Carries out one pass; slots are input, weight and output. */
async function convolve(
  one: Case,
  arrays: readonly Float32Array[],
  result: number,
  more: Partial<GpuConvolution>,
) {
  const { input, weight, ...rest } = one;
  const program = device.createProgram({
    ...{ name: 'test', arenaBytes: 0, slots: arrays.map(({ byteLength }) => byteLength) },
    commands: [
      {
        ...{ kind: 'convolution', name: 'conv_0', pass: 'forward', dtype: 'float32', ...rest },
        input: { at: { slot: 0 }, shape: input },
        weight: { at: { slot: 1 }, shape: weight },
        output: { at: { slot: 2 }, shape: outputOf(one) },
        ...more,
      },
    ],
  });
  const memories = arrays.map((array, slot) => {
    const memory = device.allocate(array.byteLength);
    void device.upload(array, memory);
    program.bind(slot, memory);
    return memory;
  });
  for (let run = 0; run < 3; run += 1) await program.run();
  const found = arrays[result].slice();
  await device.download(memories[result], found);
  return found;
}

const cases: [string, Case][] = [
  [
    'padded',
    { input: [2, 3, 6, 5], weight: [4, 3, 3, 3], padding: [1, 1], stride: [1, 1], dilation: [1, 1] },
  ],
  [
    'strided, dilated, in groups',
    {
      input: [2, 4, 9, 8],
      weight: [6, 2, 3, 2],
      padding: [2, 0],
      stride: [2, 3],
      dilation: [2, 1],
      groups: 2,
    },
  ],
  [
    'of three axes',
    {
      input: [1, 2, 4, 5, 3],
      weight: [3, 2, 2, 3, 1],
      padding: [0, 1, 0],
      stride: [1, 1, 2],
      dilation: [1, 1, 1],
    },
  ],
];

test.each(cases)('a convolution %s, and its gradients', async (_, one) => {
  const arrays = [integers(one.input, 1), integers(one.weight, 2), integers(outputOf(one), 3)];
  const expected = arrays.map(({ length }) => new Float32Array(length));
  for (const [x, w, y] of productsOf(one)) {
    expected[0][x] += arrays[1][w] * arrays[2][y];
    expected[1][w] += arrays[0][x] * arrays[2][y];
    expected[2][y] += arrays[0][x] * arrays[1][w];
  }
  const shapes = [one.input, one.weight, outputOf(one)];
  for (const [result, pass] of (['inputGradient', 'weightGradient', 'forward'] as const).entries()) {
    const given = arrays.map((array, slot) => (slot === result ? new Float32Array(array.length) : array));
    expect(await convolve(one, given, result, { pass })).toEqual(expected[result]);
    const moved = given.map((array, slot) => channelsLast(array, shapes[slot]));
    const found = await convolve(one, moved, result, { pass, layout: 'nhwc' });
    expect(found).toEqual(channelsLast(expected[result], shapes[result]));
  }
});

test('TF32 only where it is allowed', async () => {
  vi.stubEnv('NVIDIA_TF32_OVERRIDE', undefined);
  // cuDNN uses TF32 where its tensor cores have a tile.
  const [images, channels, side] = [8, 64, 8];
  const one: Case = {
    ...{ input: [images, channels, side, side], weight: [channels, channels, 1, 1] },
    ...{ padding: [0, 0], stride: [1, 1], dilation: [1, 1] },
  };
  const count = images * channels * side * side;
  const filled = (length: number, number: number) => new Float32Array(length).fill(number);
  const arrays = [filled(count, 1 + 2 ** -12), filled(channels * channels, 1), filled(count, 0)];
  expect(await convolve(one, arrays, 2, {})).toEqual(filled(count, channels * (1 + 2 ** -12)));
  expect(await convolve(one, arrays, 2, { tf32: true })).toEqual(filled(count, channels));
});

test.runIf(isFake)('bfloat16 asks for tensor cores, float32 for the arithmetic that is allowed', async () => {
  const one: Case = {
    ...{ input: [1, 1, 1, 1], weight: [1, 1, 1, 1] },
    ...{ padding: [0, 0], stride: [1, 1], dilation: [1, 1] },
  };
  const mathTypes = async (
    arrays: readonly (Float32Array | Uint16Array)[],
    more: Partial<GpuConvolution>,
  ) => {
    const before = readFileSync(log, 'utf8').length;
    const found = await convolve(one, arrays as Float32Array[], 2, more);
    const lines = readFileSync(log, 'utf8').slice(before).split('\n');
    const asked = lines.filter((line) => line.startsWith('cudnnSetConvolutionMathType '));
    return { asked: asked.map((line) => Number(line.split(' ')[1])), found };
  };
  const three = new Uint16Array([0x4040]);
  // Once to list the algorithms, and once for the chosen one.
  const narrow = await mathTypes([three, three, new Uint16Array(1)], { dtype: 'bfloat16', tf32: true });
  expect(narrow.asked).toEqual([1, 1]);
  expect(narrow.found).toEqual(new Uint16Array([0x4110]));
  const wide = [new Float32Array([3]), new Float32Array([3]), new Float32Array(1)];
  expect((await mathTypes(wide, { tf32: true })).asked).toEqual([0, 0]);
  expect((await mathTypes(wide, {})).asked).toEqual([3, 3]);
});

test.each([
  ['forward', 2, 'Forward'],
  ['inputGradient', 0, 'BackwardData'],
  ['weightGradient', 1, 'BackwardFilter'],
] as const)(
  'with benchmark, %s tries the algorithms, and has the same result',
  async (pass, result, name) => {
    const [, one] = cases[0];
    const arrays = [integers(one.input, 1), integers(one.weight, 2), integers(outputOf(one), 3)];
    const expected = await convolve(one, arrays, result, { pass });
    const before = isFake ? readFileSync(log, 'utf8').length : 0;
    expect(await convolve(one, arrays, result, { pass, benchmark: true })).toEqual(expected);
    if (isFake) {
      expect(readFileSync(log, 'utf8').slice(before)).toContain(`cudnnFindConvolution${name}Algorithm`);
    }
  },
);

test('shapes that do not fit are refused', () => {
  const [, one] = cases[0];
  const arrays = [integers(one.input, 1), integers(one.weight, 2), integers(outputOf(one), 3)];
  const refused = (more: Partial<GpuConvolution>) => convolve(one, arrays, 2, more);
  return Promise.all([
    expect(refused({ output: { at: { slot: 2 }, shape: [2, 4, 6, 6] } })).rejects.toThrow(
      'program test, command conv_0: convolution: expected output [2, 4, 6, 5], got [2, 4, 6, 6]',
    ),
    expect(refused({ groups: 3 })).rejects.toThrow(
      'channels of input [2, 3, 6, 5] and weight [4, 3, 3, 3] do not fit 3 groups',
    ),
  ]);
});
