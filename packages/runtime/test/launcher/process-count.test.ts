import { expect, test } from 'vitest';
import { countGpus } from '../../src/launcher/gpus.ts';
import { countProcesses } from '../../src/launcher/process-count.ts';

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

test('without device files there is no GPU, whatever the environment says', () => {
  expect(countGpus(['null', 'nvidia-modeset'], { CUDA_VISIBLE_DEVICES: '0,1' })).toBe(0);
});

test.each([
  [3, 8, 2, 3],
  ['auto', 8, 2, 2],
  ['auto', 8, 0, 8],
  ['cpu', 8, 2, 8],
  ['gpu', 8, 2, 2],
] as const)('%s on a node with %d CPUs and %d GPUs: %d processes', (asked, cpus, gpus, expected) => {
  expect(countProcesses(asked, cpus, gpus)).toBe(expected);
});

test('gpu is refused where there is none, with where it was looked for', () => {
  expect(() => countProcesses('gpu', 8, 0)).toThrow(
    /no \/dev\/nvidia0.*CUDA_VISIBLE_DEVICES.*Give a number, cpu, or auto/,
  );
});
