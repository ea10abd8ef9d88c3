import { expect, test } from 'vitest';
import type { GpuArgument, GpuExtent, NativeGpuModule } from '@ringrun/native';
import { fakeDevice } from './fake-device.ts';

const device = fakeDevice();

/** Launches a kernel once, with arrays as its first arguments, and returns their elements afterwards. */
async function launched(
  module: NativeGpuModule,
  kernel: string,
  grid: GpuExtent,
  block: GpuExtent,
  arrays: readonly Float32Array[],
  more: readonly GpuArgument[] = [],
  sharedBytes = 0,
): Promise<Float32Array[]> {
  const memories = arrays.map((array) => device.allocate(array.byteLength));
  const program = device.createProgram({
    name: 'test',
    arenaBytes: 0,
    slots: arrays.map((array) => array.byteLength),
    commands: [
      {
        kind: 'launch',
        name: kernel,
        module,
        kernel,
        grid,
        block,
        sharedBytes,
        arguments: [...arrays.map((_, slot) => ({ slot })), ...more],
      },
    ],
  });
  for (const [slot, array] of arrays.entries()) {
    void device.upload(array, memories[slot]);
    program.bind(slot, memories[slot]);
  }
  await program.run();
  const results = arrays.map((array) => new Float32Array(array.length));
  await Promise.all(results.map((result, slot) => device.download(memories[slot], result)));
  return results;
}

const saxpy = `
extern "C" __global__ void saxpy(const float* __restrict__ x, float* y, float a, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}`;

test('a kernel computes every element', async () => {
  const module = await device.compile(saxpy, 'saxpy.cu');
  const count = 1000;
  const x = Float32Array.from({ length: count }, (_, i) => i);
  const y = Float32Array.from({ length: count }, (_, i) => 1 / (i + 1));
  const [, found] = await launched(
    module,
    'saxpy',
    [8, 1, 1],
    [128, 1, 1],
    [x, y],
    [{ float32: 2 }, { int32: count }],
  );
  expect(found).toEqual(y.map((value, i) => value + 2 * x[i]));
});

const reduction = `
__device__ float sumOfWarp(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(0xffffffff, value, lanes);
  return value;
}

extern "C" __global__ void __launch_bounds__(256) sumOfRows(const float* rows, float* sums, int columns) {
  __shared__ float ofWarps[8];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += rows[blockIdx.x * columns + i];
  sum = sumOfWarp(sum);
  if (threadIdx.x % 32 == 0) ofWarps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) total += ofWarps[i];
    sums[blockIdx.x] = total;
  }
}

extern "C" __global__ void reversed(const float* from, float* to) {
  extern __shared__ float values[];
  values[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}`;

test('threads of a block meet at barriers and exchange values in warps', async () => {
  const module = await device.compile(reduction, 'reduction.cu');
  const rows = Float32Array.from({ length: 3 * 700 }, (_, i) => (i % 7) - 2);
  const [, sums] = await launched(
    module,
    'sumOfRows',
    [3, 1, 1],
    [256, 1, 1],
    [rows, new Float32Array(3)],
    [{ int32: 700 }],
  );
  const expected = [0, 1, 2].map((row) => rows.subarray(row * 700, (row + 1) * 700).reduce((a, b) => a + b));
  expect([...sums]).toEqual(expected);
  const values = Float32Array.from({ length: 100 }, (_, i) => i);
  const [, found] = await launched(
    module,
    'reversed',
    [1, 1, 1],
    [100, 1, 1],
    [values, new Float32Array(100)],
    [],
    400,
  );
  expect(found).toEqual(values.toReversed());
  expect(module.resources('sumOfRows')).toMatchObject({ sharedBytes: 32, maxThreads: 256 });
});

test('a source that does not compile is refused with the log and the line', async () => {
  const source = 'extern "C" __global__ void wrong(float* x) {\n  x[0] = unknown;\n}';
  await expect(device.compile(source, 'wrong.cu')).rejects.toThrow(
    /wrong\.cu does not compile:\n(?:.*\n)*wrong\.cu\(2\): error: .*unknown.*\n {2}2 \| {3}x\[0\] = unknown;/,
  );
});
