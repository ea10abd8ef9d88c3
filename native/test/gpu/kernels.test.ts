import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { GpuArgument, GpuExtent, NativeGpuModule } from '@ringrun/native';
import { fakeDevice, isFake } from './fake-device.ts';
import { language, reduction, saxpy } from './sources.ts';

const device = fakeDevice();

/** Launches a kernel once, with arrays as its first arguments, and returns their elements afterwards. */
async function launched<T extends Float32Array | Int32Array | Uint32Array | Uint8Array>(
  module: NativeGpuModule,
  kernel: string,
  grid: GpuExtent,
  block: GpuExtent,
  arrays: readonly T[],
  more: readonly GpuArgument[] = [],
  sharedBytes = 0,
): Promise<T[]> {
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
  const results = arrays.map((array) => array.slice() as T);
  await Promise.all(results.map((result, slot) => device.download(memories[slot], result)));
  return results;
}

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
    /wrong\.cu does not compile:\n(?:.*\n)*wrong\.cu\(2\): error: .*unknown.*\n.* x\[0\] = unknown;/,
  );
});

test('warps exchange values as on a GPU, in both orders of threads', async () => {
  const module = await device.compile(language, 'language.cu');
  const threads = 96;
  const x = Int32Array.from({ length: threads }, (_, i) => ((i * 37) % 23) - 7);
  const expected = new Int32Array(threads + 2);
  const atLane = (values: Int32Array, thread: number, lane: number) => values[thread - (thread % 32) + lane];
  let value = x;
  const step = (add: (thread: number, lane: number) => number) => {
    value = value.map((one, thread) => one + add(thread, thread % 32));
  };
  step((thread) => atLane(value, thread, 3));
  step((thread, lane) => 2 * (lane === 0 ? value[thread] : value[thread - 1]));
  step((thread, lane) => 3 * ((lane % 8) + 2 >= 8 ? value[thread] : value[thread + 2]));
  step((thread) => 5 * value[thread ^ 4]);
  step(
    (thread) =>
      value.filter((one, i) => Math.floor(i / 32) === Math.floor(thread / 32) && one % 2 === 0).length,
  );
  step(() => 1 + 2 + 32 + 1 + 1);
  expected.set(value);
  expected.set([threads, Math.max(0, ...value)], threads);
  for (const order of ['forward', 'reverse']) {
    process.env['RINGRUN_FAKE_GPU_ORDER'] = order;
    const [, found] = await launched(
      module,
      'warps',
      [1, 1, 1],
      [threads, 1, 1],
      [x, new Int32Array(threads + 2)],
    );
    expect(found).toEqual(expected);
  }
  delete process.env['RINGRUN_FAKE_GPU_ORDER'];
});

test('blocks and threads of three dimensions', async () => {
  const module = await device.compile(language, 'language.cu');
  const [found] = await launched(module, 'blocks', [2, 3, 2], [4, 2, 3], [new Int32Array(12 * 24)]);
  expect(found).toEqual(Int32Array.from({ length: 12 * 24 }, (_, i) => 1000 * Math.floor(i / 24) + (i % 24)));
});

test('vector types have the layout of CUDA', async () => {
  const module = await device.compile(language, 'language.cu');
  const from = Float32Array.from({ length: 12 }, (_, i) => i);
  const bytes = Uint8Array.from({ length: 12 }, (_, i) => i);
  const [, to, pairs] = await launched<Float32Array | Uint8Array>(
    module,
    'vectors',
    [1, 1, 1],
    [3, 1, 1],
    [from, new Float32Array(12), new Float32Array(6), bytes],
  );
  expect([...to]).toEqual([3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]);
  expect([...pairs]).toEqual([1, 5, 9, 26, 17, 84]);
});

test.runIf(isFake)('a missing barrier gives other results when the last thread runs first', async () => {
  const module = await device.compile(
    `
extern "C" __global__ void racing(const float* from, float* to) {
  __shared__ float values[64];
  values[threadIdx.x] = from[threadIdx.x];
  to[threadIdx.x] = values[(threadIdx.x + 1) % 64];
}`,
    'racing.cu',
  );
  const from = Float32Array.from({ length: 64 }, (_, i) => i);
  const run = () => launched(module, 'racing', [1, 1, 1], [64, 1, 1], [from, new Float32Array(64)]);
  const [, forward] = await run();
  process.env['RINGRUN_FAKE_GPU_ORDER'] = 'reverse';
  const [, reversed] = await run();
  delete process.env['RINGRUN_FAKE_GPU_ORDER'];
  // Shared memory is NaN before it is written.
  expect(forward[0]).toBeNaN();
  expect(reversed[0]).toBe(1);
});

test.runIf(isFake)('sources that compile are kept once, with their options, if a folder is set', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-sources-'));
  vi.stubEnv('RINGRUN_FAKE_NVRTC_SOURCES', folder);
  try {
    await Promise.all([device.compile(saxpy, 'a.cu'), device.compile(saxpy, 'b.cu')]);
    await expect(device.compile('not CUDA', 'c.cu')).rejects.toThrow('does not compile');
    const files = readdirSync(folder);
    expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{32}\.cu$/)]);
    const kept = readFileSync(join(folder, files[0]), 'utf8');
    expect(kept).toMatch(/^\/\/ --gpu-architecture=sm_\d+ --std=c\+\+17\n$/m);
    expect(kept.startsWith(`${saxpy}\n`)).toBe(true);
  } finally {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  }
});

test('too much static shared memory is refused', async () => {
  const source =
    'extern "C" __global__ void large(float* x) {\n  __shared__ float values[12289];\n  values[0] = 1;\n  x[0] = values[threadIdx.x];\n}';
  await expect(device.compile(source, 'large.cu')).rejects.toThrow(
    /Entry function 'large' uses too much shared data/,
  );
});
