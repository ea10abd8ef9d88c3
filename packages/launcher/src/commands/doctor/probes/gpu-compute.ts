// Computes on one GPU as a model does: a kernel, a product of matrices and, with the argument `convolution`, a convolution.
// Arguments: the index of the GPU, and `convolution`. Prints the results and what the host computes.
import { loadNative } from '@ringrun/native';
import type { GpuCommand } from '@ringrun/native';

/** Everything is small integers, which are exact in every precision. */
export interface GpuComputeAnswer {
  name: string;
  capability: readonly [major: number, minor: number];
  freeBytes: number;
  totalBytes: number;
  results: { what: string; expected: number[]; got: number[] }[];
  milliseconds: number;
}

const source = `extern "C" __global__ void double_all(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}`;

const startedAt = performance.now();
const [index, convolves] = process.argv.slice(2);
const gpu = new (loadNative().GpuDevice)(Number(index));
const { freeBytes, totalBytes } = gpu.memory();
const results = [await doubled(), await multiplied()];
if (convolves === 'convolution') results.push(await convolved());
const answer: GpuComputeAnswer = {
  name: gpu.name,
  capability: gpu.capability,
  freeBytes,
  totalBytes,
  results,
  milliseconds: performance.now() - startedAt,
};
process.stdout.write(JSON.stringify(answer));

async function doubled() {
  const x = integers(300);
  const module = await gpu.compile(source, 'double_all.cu');
  const got = await computed([x], x.length, {
    ...{ kind: 'launch', name: 'double_all', module, kernel: 'double_all' },
    grid: [2, 1, 1],
    block: [256, 1, 1],
    arguments: [{ slot: 0 }, { slot: 1 }, { int32: x.length }],
  });
  return { what: 'a kernel', expected: [...x].map((value) => 2 * value), got };
}

async function multiplied() {
  const [m, k, n] = [8, 16, 24];
  const [left, right] = [integers(m * k), integers(k * n)];
  const got = await computed([left, right], m * n, {
    ...{ kind: 'product', name: 'product', dtype: 'float32', m, n, k },
    ...{ left: { at: { slot: 0 } }, right: { at: { slot: 1 } }, result: { at: { slot: 2 } } },
  });
  const expected = Array.from({ length: m * n }, (_, place) => {
    const [row, column] = [Math.floor(place / n), place % n];
    return sum(k, (i) => left[row * k + i] * right[i * n + column]);
  });
  return { what: 'a product', expected, got };
}

/** Two channels of 6 × 6, three filters of 3 × 3, without padding. */
async function convolved() {
  const [channels, size, filters, width] = [2, 6, 3, 3];
  const to = size - width + 1;
  const [x, w] = [integers(channels * size * size), integers(filters * channels * width * width)];
  const got = await computed([x, w], filters * to * to, {
    ...{ kind: 'convolution', name: 'convolution', pass: 'forward', dtype: 'float32' },
    input: { at: { slot: 0 }, shape: [1, channels, size, size] },
    weight: { at: { slot: 1 }, shape: [filters, channels, width, width] },
    output: { at: { slot: 2 }, shape: [1, filters, to, to] },
    ...{ padding: [0, 0], stride: [1, 1], dilation: [1, 1] },
  });
  const taps = channels * width * width;
  const expected = Array.from({ length: filters * to * to }, (_, place) => {
    const [filter, row, column] = [Math.floor(place / to / to), Math.floor(place / to) % to, place % to];
    return sum(taps, (tap) => {
      const [channel, down, right] = [
        Math.floor(tap / width / width),
        Math.floor(tap / width) % width,
        tap % width,
      ];
      return w[filter * taps + tap] * x[(channel * size + row + down) * size + column + right];
    });
  });
  return { what: 'a convolution', expected, got };
}

/** Runs a program of one command, whose last slot is its result. */
async function computed(
  inputs: readonly Float32Array[],
  length: number,
  command: GpuCommand,
): Promise<number[]> {
  const result = new Float32Array(length);
  const arrays = [...inputs, result];
  const program = gpu.createProgram({
    name: 'ringrun doctor',
    arenaBytes: 0,
    slots: arrays.map(({ byteLength }) => byteLength),
    commands: [command],
  });
  const memories = arrays.map((array, slot) => {
    const memory = gpu.allocate(array.byteLength);
    program.bind(slot, memory);
    return memory;
  });
  await Promise.all(inputs.map((array, slot) => gpu.upload(array, memories[slot])));
  await program.run();
  await gpu.download(memories[inputs.length], result);
  return [...result];
}

/** From −4 to 4. */
function integers(length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, i) => ((i * 7) % 9) - 4);
}

function sum(count: number, term: (i: number) => number): number {
  let total = 0;
  for (let i = 0; i < count; i += 1) total += term(i);
  return total;
}
