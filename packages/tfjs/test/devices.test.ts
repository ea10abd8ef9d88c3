import { expect, test } from 'vitest';
import { devicesProblem, ownDevice } from '../src/process/devices.ts';

test.each([
  ['without a launcher nothing is changed', {}, undefined],
  ['without a launcher nothing is changed', { CUDA_VISIBLE_DEVICES: '0,1' }, undefined],
  ['each rank of a host has the GPU of its number', { LOCAL_RANK: '2' }, '2'],
  [
    'or the one at its number of those that are shown',
    { LOCAL_RANK: '1', CUDA_VISIBLE_DEVICES: '4,GPU-8a1f,6' },
    'GPU-8a1f',
  ],
  ['one that somebody has chosen stays', { LOCAL_RANK: '1', CUDA_VISIBLE_DEVICES: '3' }, undefined],
  ['and so does none', { LOCAL_RANK: '0', CUDA_VISIBLE_DEVICES: '' }, undefined],
  ['there may be fewer than ranks', { LOCAL_RANK: '2', CUDA_VISIBLE_DEVICES: '0,1' }, undefined],
])('%s: %j has %s', (_, environment, device) => {
  expect(ownDevice(environment)).toBe(device);
});

test('a rank without a GPU of its own is told why, once TensorFlow computes on GPUs', () => {
  const shown = { LOCAL_WORLD_SIZE: '3', CUDA_VISIBLE_DEVICES: '0,1' };
  expect(devicesProblem({ ...shown, LOCAL_RANK: '2' })).toBe(
    'CUDA_VISIBLE_DEVICES=0,1 shows 2 GPUs to local rank 2 of 3, which needs one of its own. Start at most 2 processes on this host (--nproc-per-node 2).',
  );
  // The package was loaded before this one could choose.
  expect(devicesProblem({ ...shown, LOCAL_RANK: '1' })).toContain(
    'Import @ringrun/tfjs before @tensorflow/tfjs-node-gpu',
  );
  expect(devicesProblem({ LOCAL_RANK: '1', LOCAL_WORLD_SIZE: '2' })).toBe(
    'all GPUs are shown to local rank 1 of 2, which needs one of its own. Import @ringrun/tfjs before @tensorflow/tfjs-node-gpu, which looks for GPUs when it is loaded.',
  );
  expect(devicesProblem({ LOCAL_RANK: '1', CUDA_VISIBLE_DEVICES: '1' })).toBeUndefined();
  expect(devicesProblem({})).toBeUndefined();
});
