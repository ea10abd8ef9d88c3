import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../src/process-group/environment.ts';

/** Variables of a PyTorchJob of three replicas with a Master. */
const pytorchJob = (nproc: string, worldSize: number) => ({
  RANK: '2',
  PET_NODE_RANK: '2',
  WORLD_SIZE: String(worldSize),
  MASTER_ADDR: 'job-master-0',
  PET_NNODES: '3',
  PET_NPROC_PER_NODE: nproc,
});

describe('node train.js without a launcher', () => {
  test.each<[string, Record<string, string>, rank: number, worldSize: number]>([
    ['a PyTorchJob with one process per node', pytorchJob('1', 3), 2, 3],
    ['a PyTorchJob with nprocPerNode auto, of which the operator counts one', pytorchJob('auto', 3), 2, 3],
    ['a PyTorchJob of old', { RANK: '2', WORLD_SIZE: '3', MASTER_ADDR: 'job-master-0' }, 2, 3],
    [
      'a TrainJob of one node and process',
      { PET_NNODES: '1', PET_NPROC_PER_NODE: '1', PET_NODE_RANK: '0' },
      0,
      1,
    ],
    ['a launched process', { ...pytorchJob('2', 6), RANK: '5', LOCAL_RANK: '1' }, 5, 6],
    ['the first process of a launched node', { ...pytorchJob('2', 6), LOCAL_RANK: '0' }, 2, 6],
    ['ranks that a script of the pod has set', { ...pytorchJob('2', 6), RANK: '5' }, 5, 6],
  ])('%s: reads its rank', (_, env, rank, worldSize) => {
    expect(readEnvironment(env)).toMatchObject({ rank, worldSize });
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'a PyTorchJob with two',
      pytorchJob('2', 6),
      /PET_NPROC_PER_NODE requests 2 processes .* RANK=2 is the node's rank\./,
    ],
    [
      'a TrainJob',
      { PET_NNODES: '2', PET_NPROC_PER_NODE: '1', PET_NODE_RANK: '1' },
      /PET_NNODES is 2, but RANK and WORLD_SIZE are not set, so each node would train alone/,
    ],
    ['an elastic job', { PET_NNODES: '1:3', PET_RDZV_BACKEND: 'c10d' }, /PET_NNODES is 1:3/],
    [
      'one node of several processes',
      { PET_NNODES: '1', PET_N_PROC_PER_NODE: '4' },
      /PET_NPROC_PER_NODE requests 4 processes on this node/,
    ],
  ])('%s: refuses, with the command to run', (_, env, says) => {
    expect(() => readEnvironment(env)).toThrow(says);
    expect(() => readEnvironment(env)).toThrow(/Start the script with `ringrun train\.js`/);
    // With explicit rank and worldSize, the environment is not needed.
    expect(readEnvironment(env, { rank: 0, worldSize: 1 })).toMatchObject({ rank: 0, worldSize: 1 });
  });
});
