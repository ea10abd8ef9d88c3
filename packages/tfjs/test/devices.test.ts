import { expect, test } from 'vitest';
import { devicesProblem, ownDevice } from '../src/process/devices.ts';

test.each([
  ['without a launcher nothing is changed', {}, undefined],
  ['without a launcher nothing is changed', { CUDA_VISIBLE_DEVICES: '0,1' }, undefined],
  ['each rank of a host uses the GPU of its local rank', { LOCAL_RANK: '2' }, '2'],
  ['or the visible GPU at that index', { LOCAL_RANK: '1', CUDA_VISIBLE_DEVICES: '4,GPU-8a1f,6' }, 'GPU-8a1f'],
  ['keeps a single selected GPU', { LOCAL_RANK: '1', CUDA_VISIBLE_DEVICES: '3' }, undefined],
  ['keeps an empty selection', { LOCAL_RANK: '0', CUDA_VISIBLE_DEVICES: '' }, undefined],
  ['fewer GPUs than ranks', { LOCAL_RANK: '2', CUDA_VISIBLE_DEVICES: '0,1' }, undefined],
])('%s: %j has %s', (_, environment, device) => {
  expect(ownDevice(environment)).toBe(device);
});

test('explains why a rank does not have its own GPU', () => {
  const shown = { LOCAL_WORLD_SIZE: '3', CUDA_VISIBLE_DEVICES: '0,1' };
  expect(devicesProblem({ ...shown, LOCAL_RANK: '2' })).toBe(
    'CUDA_VISIBLE_DEVICES=0,1 makes 2 GPUs visible to local rank 2 of 3, which needs its own GPU. Start at most 2 processes on this host (--nproc-per-node 2).',
  );
  // TensorFlow was loaded before @ringrun/tfjs.
  expect(devicesProblem({ ...shown, LOCAL_RANK: '1' })).toContain(
    'Import @ringrun/tfjs before @tensorflow/tfjs-node-gpu',
  );
  expect(devicesProblem({ LOCAL_RANK: '1', LOCAL_WORLD_SIZE: '2' })).toBe(
    'all GPUs are visible to local rank 1 of 2, which needs its own GPU. Import @ringrun/tfjs before @tensorflow/tfjs-node-gpu, which detects GPUs when it is loaded.',
  );
  expect(devicesProblem({ LOCAL_RANK: '1', CUDA_VISIBLE_DEVICES: '1' })).toBeUndefined();
  expect(devicesProblem({})).toBeUndefined();
});
