import { expect, test } from 'vitest';
import { countGpus, countProcesses } from '../../src/job/process-count.ts';
import { readLimits, refuseTooMany } from '../../src/job/process-limits.ts';

const devices = [
  'nvidia0',
  'nvidia1',
  'nvidia2',
  'nvidia3',
  'nvidiactl',
  'nvidia-uvm',
  'nvidia-caps',
  'null',
];

test.each<[env: Record<string, string>, gpus: number]>([
  [{}, 4],
  [{ CUDA_VISIBLE_DEVICES: '' }, 0],
  [{ CUDA_VISIBLE_DEVICES: '-1' }, 0],
  [{ CUDA_VISIBLE_DEVICES: '2' }, 1],
  [{ CUDA_VISIBLE_DEVICES: '0, 3' }, 2],
  [{ CUDA_VISIBLE_DEVICES: '0,9,1' }, 1],
  [{ CUDA_VISIBLE_DEVICES: '1,1' }, 0],
  [{ CUDA_VISIBLE_DEVICES: 'GPU-8932f937-d72c-4106-c12f-20bd9faed9f6' }, 1],
  [{ CUDA_VISIBLE_DEVICES: 'MIG-a/1/0,MIG-a/2/0,MIG-a/3/0,MIG-a/4/0,MIG-a/5/0' }, 5],
  [{ NVIDIA_VISIBLE_DEVICES: 'all' }, 4],
  [{ NVIDIA_VISIBLE_DEVICES: 'none' }, 0],
  [{ NVIDIA_VISIBLE_DEVICES: 'void' }, 0],
])('of four GPUs, %j leaves %d', (env, gpus) => {
  expect(countGpus(devices, env)).toBe(gpus);
});

test('counts no GPU without device files, regardless of CUDA_VISIBLE_DEVICES', () => {
  expect(countGpus(['null', 'nvidia-modeset'], { CUDA_VISIBLE_DEVICES: '0,1' })).toBe(0);
});

test.each([
  [3, 8, 2, 3],
  ['auto', 8, 2, 2],
  ['auto', 8, 0, 8],
  ['cpu', 8, 2, 8],
  ['gpu', 8, 2, 2],
] as const)('%s on a node with %d CPUs and %d GPUs: %d processes', (requested, cpus, gpus, expected) => {
  expect(countProcesses(requested, cpus, gpus)).toBe(expected);
});

test('refuses gpu on a node without GPUs and names the files and variables checked', () => {
  expect(() => countProcesses('gpu', 8, 0)).toThrow(
    /got none: \/dev\/nvidia0.*CUDA_VISIBLE_DEVICES.*Pass a number, cpu, or auto/,
  );
});

test('refuses more processes than the tightest limit and names that limit', () => {
  const limits = [
    { of: 'MiB of memory', available: 1600, perProcess: 16 },
    { of: 'open files (ulimit -n)', available: 1024, perProcess: 1 },
  ];
  expect(() => {
    refuseTooMany(100, limits);
  }).not.toThrow();
  expect(() => {
    refuseTooMany(101, limits);
  }).toThrow(
    '--nproc-per-node: expected at most 100 processes on this node, got 101. The node has 1600 MiB of memory, and each process needs at least 16.',
  );
  expect(() => {
    refuseTooMany(1, [{ of: 'MiB of memory', available: 10, perProcess: 16 }]);
  }).not.toThrow();
});

test("reads this node's limits, which allow more programs than scripts", () => {
  const [script, program] = [readLimits('script'), readLimits('program')];
  expect(script.map(({ of }) => of)).toContain('open files (ulimit -n)');
  for (const { available, perProcess } of script) expect(available).toBeGreaterThan(perProcess);
  expect(program[0].perProcess).toBeLessThan(script[0].perProcess);
});
