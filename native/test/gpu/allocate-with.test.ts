import { expect, test, vi } from 'vitest';
import type { GpuLaunch, NativeDeviceMemory } from '@ringrun/native';
import { fakeDevice } from './fake-device.ts';

const device = fakeDevice();

const floats = 256;
const bytes = 4 * floats;

const module = device.compileSync(
  `
// Reads x late.
extern "C" __global__ void copyLate(const float* x, float* y, const int* turns) {
  volatile float busy = 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < *turns; ++i) busy = busy + 1;
  }
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x];
}
`,
  'copy-late.cu',
);

const launch: GpuLaunch = {
  ...{ kind: 'launch', name: 'copyLate_0', module, kernel: 'copyLate', grid: [1, 1, 1] },
  ...{ block: [floats, 1, 1], arguments: [{ slot: 0 }, { slot: 1 }, { slot: 2 }] },
};

const turns = device.allocate(16);
const setTurns = (count: number) => device.upload(Int32Array.of(count), turns);
const filled = (value: number) => new Float32Array(floats).fill(value);
const large = (value: number) => new Float32Array(100 * floats).fill(value);

async function read(memory: NativeDeviceMemory): Promise<number[]> {
  const array = new Float32Array(floats);
  await device.download(memory, array);
  return [...new Set(array)];
}

function createProgram(y: NativeDeviceMemory) {
  const program = device.createProgram({
    ...{ name: 'late', arenaBytes: 0, slots: [bytes, bytes, 4], commands: [launch] },
  });
  program.bind(1, y);
  program.bind(2, turns);
  return program;
}

test('each run reads the elements that were given before it, although they arrive late', async () => {
  vi.stubEnv('RINGRUN_FAKE_GPU_UPLOAD_MS', '5');
  await setTurns(0);
  const results = Array.from({ length: 12 }, () => device.allocate(bytes));
  const program = createProgram(results[0]);
  const runs: Promise<void>[] = [];
  for (const [index, result] of results.entries()) {
    const batch = filled(index);
    const x = device.allocateWith(batch);
    // The elements have been read.
    batch.fill(-1);
    program.bind(0, x);
    program.bind(1, result);
    runs.push(program.run());
    x.free();
  }
  await Promise.all(runs);
  for (const [index, result] of results.entries()) expect(await read(result)).toEqual([index]);
  program.release();
});

test('memory that earlier work still reads is overwritten after it', async () => {
  const [y, other] = [device.allocate(bytes), device.allocate(bytes)];
  const program = createProgram(y);
  // Of a size that no other test has released.
  const x = device.allocateWith(large(1));
  program.bind(0, x);
  await setTurns(0);
  // Direct, then recorded: only a replay does not wait for its work.
  await program.run();
  await program.run();
  await setTurns(1e8);
  const { freeBytes } = device.memory();
  const run = program.run();
  await vi.waitUntil(() => program.statistics.replayed === 1, { timeout: 20_000 });
  program.bind(0, other);
  x.free();
  const next = device.allocateWith(large(2));
  expect(device.memory().freeBytes, 'the memory is used again').toBe(freeBytes);
  await run;
  expect(await read(y)).toEqual([1]);
  expect(await read(next)).toEqual([2]);
  program.release();
});

test('an empty array is refused', () => {
  expect(() => device.allocateWith(new Float32Array())).toThrow('expected an array with elements');
});
