import { expect, test } from 'vitest';
import type { GpuCommand, GpuLaunch, GpuProgramDefinition } from '@ringrun/native';
import { fakeDevice, isFake } from './fake-device.ts';

const device = fakeDevice();

const module = device.compileSync(
  `
extern "C" __global__ void addOne(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void scale(const float* x, float* y, float factor) { y[threadIdx.x] = factor * x[threadIdx.x]; }
struct Tensors { float* at[3]; };
extern "C" __global__ void fillAll(Tensors tensors, float value) { tensors.at[blockIdx.x][threadIdx.x] = value; }
extern "C" __global__ void __launch_bounds__(64) few(float* x) { x[threadIdx.x] = 0; }
extern "C" __global__ void diverging(float* x) {
  if (threadIdx.x < 3) __syncthreads();
  x[threadIdx.x] = 0;
}
__global__ void mangled(float* x) { x[0] = 0; }
`,
  'program.cu',
);

const floats = 16;
const bytes = 4 * floats;

function launch(kernel: string, args: GpuLaunch['arguments'], more: Partial<GpuLaunch> = {}): GpuLaunch {
  return {
    ...{ kind: 'launch', name: `${kernel}_0`, module, kernel, grid: [1, 1, 1], block: [floats, 1, 1] },
    arguments: args,
    ...more,
  };
}

const define = (commands: readonly GpuCommand[], more: Partial<GpuProgramDefinition> = {}) =>
  device.createProgram({ name: 'test', arenaBytes: bytes, slots: [bytes, bytes], commands, ...more });

/** y = 3 · (x + 1), by way of the arena; x stays. */
const commands: readonly GpuCommand[] = [
  { kind: 'copy', name: 'copy_0', from: { slot: 0 }, to: { arena: 0 }, bytes },
  launch('addOne', [{ arena: 0 }]),
  launch('scale', [{ arena: 0 }, { slot: 1 }, { float32: 3 }]),
];

const uploaded = (...values: number[]) => {
  const memory = device.allocate(bytes);
  void device.upload(
    Float32Array.from({ length: floats }, (_, i) => values[i % values.length]),
    memory,
  );
  return memory;
};

async function read(memory: ReturnType<typeof device.allocate>): Promise<number[]> {
  const array = new Float32Array(floats);
  await device.download(memory, array);
  return [...array];
}

test('the first run is direct, the second is recorded, later ones are replayed', async () => {
  const program = define(commands);
  const [x, y] = [uploaded(1), uploaded(0)];
  program.bind(0, x);
  program.bind(1, y);
  for (let run = 0; run < 4; run += 1) {
    void device.upload(new Float32Array(floats).fill(run), x);
    await program.run();
    expect(await read(y)).toEqual(Array<number>(floats).fill(3 * (run + 1)));
  }
  expect(program.statistics).toMatchObject({ direct: 1, recorded: 1, replayed: 2, graphNodes: 3 });
});

test('other buffers have their own graph, and runs need not be awaited', async () => {
  const program = define(commands);
  const [a, b, y, z] = [uploaded(1), uploaded(2), uploaded(0), uploaded(0)];
  const runs: Promise<void>[] = [];
  for (let run = 0; run < 6; run += 1) {
    program.bind(0, run % 2 === 0 ? a : b);
    program.bind(1, run % 2 === 0 ? y : z);
    runs.push(program.run());
  }
  await Promise.all(runs);
  expect(await read(y)).toEqual(Array<number>(floats).fill(6));
  expect(await read(z)).toEqual(Array<number>(floats).fill(9));
  expect(program.statistics).toMatchObject({ direct: 2, recorded: 2, replayed: 2 });
});

test('runSync, downloadSync, measure, fill and structs of pointers', async () => {
  const program = define([
    { kind: 'fill', name: 'fill_0', at: { slot: 0 }, bytes },
    launch('fillAll', [{ addresses: [{ arena: 0 }, { slot: 0 }, { slot: 1 }] }, { float32: 5 }], {
      grid: [2, 1, 1],
      block: [4, 1, 1],
    }),
  ]);
  const [x, y] = [uploaded(1), uploaded(2)];
  program.bind(0, x);
  program.bind(1, y);
  program.runSync();
  const found = new Float32Array(floats);
  device.downloadSync(x, found);
  expect([...found]).toEqual([5, 5, 5, 5, ...Array<number>(12).fill(0)]);
  expect(await read(y)).toEqual(Array<number>(floats).fill(2));
  const times = await program.measure(3);
  expect(times).toHaveLength(3);
  expect(times.every((time) => time >= 0 && time < 10_000)).toBe(true);
  expect(program.statistics).toMatchObject({ direct: 1, recorded: 1, replayed: 2 });
});

test.each([
  ['the wrong number of arguments', launch('addOne', []), /expected 1 argument, got 0/],
  [
    'an argument of another size',
    launch('scale', [{ arena: 0 }, { slot: 1 }, { float64: 3 }]),
    /argument 2 has 4 bytes, got 8/,
  ],
  [
    'an unknown kernel',
    launch('unknown', []),
    /cuModuleGetFunction \(kernel unknown of program\.cu\): .*NOT_FOUND/,
  ],
  ['a kernel without C linkage', launch('mangled', [{ arena: 0 }]), /kernel mangled .*NOT_FOUND/],
  [
    'more shared memory than the GPU has',
    launch('addOne', [{ arena: 0 }], { sharedBytes: 300_000 }),
    /300,000 bytes of shared memory/,
  ],
])('%s is refused with the names of program and command', (_, command, message) => {
  expect(() => define([command])).toThrow(new RegExp(`^program test, command ${command.name}: `));
  expect(() => define([command])).toThrow(message);
});

test.each([
  ['too many threads', launch('addOne', [{ slot: 0 }], { block: [32, 33, 1] }), /INVALID_VALUE/],
  ['no blocks', launch('addOne', [{ slot: 0 }], { grid: [0, 1, 1] }), /INVALID_VALUE/],
  ['too many blocks', launch('addOne', [{ slot: 0 }], { grid: [1, 65_536, 1] }), /INVALID_VALUE/],
  [
    'more threads than the launch bounds',
    launch('few', [{ slot: 0 }], { block: [65, 1, 1] }),
    /CUDA_ERROR_INVALID_VALUE/,
  ],
])('a run with %s is rejected and names the command', async (_, command, message) => {
  const program = define([command]);
  program.bind(0, uploaded(0));
  program.bind(1, uploaded(0));
  await expect(program.run()).rejects.toThrow(`program test, command ${command.name}: cuLaunchKernel`);
  await expect(program.run()).rejects.toThrow(message);
});

test('buffers are checked', () => {
  const program = define(commands);
  const memory = device.allocate(bytes);
  expect(() => {
    program.bind(2, memory);
  }).toThrow('slot: expected less than 2, got 2');
  expect(() => {
    program.bind(0, memory, 4);
  }).toThrow(/slot 0: expected 64 bytes, got 64 from byte 4 on/);
  expect(() => program.run()).toThrow('program test: slot 0 has no buffer');
  program.release();
  expect(() => program.run()).toThrow('the program was released');
});

test.runIf(isFake)('freed memory is used again, and the memory of a GPU is limited', async () => {
  const first = device.allocate(100_000);
  const { address } = first;
  // What fills it holds it.
  await device.synchronize();
  first.free();
  expect(device.allocate(99_000).address).toBe(address);
  expect(() => device.allocate(2 ** 40)).toThrow(/OUT_OF_MEMORY.* bytes are free/);
  expect(device.memory().totalBytes).toBe(2 ** 34);
});

// The last test: afterwards the GPU cannot be used.
test.runIf(isFake)('threads that do not reach a barrier end the run, and all later ones', async () => {
  const program = define([commands[0], launch('diverging', [{ slot: 0 }])]);
  program.bind(0, uploaded(0));
  program.bind(1, uploaded(0));
  // The promises of these uploads would reject too.
  await device.synchronize();
  await expect(program.run()).rejects.toThrow(/^program test, command diverging_0: .*LAUNCH_FAILED/);
  await expect(device.synchronize()).rejects.toThrow(/LAUNCH_FAILED/);
});
