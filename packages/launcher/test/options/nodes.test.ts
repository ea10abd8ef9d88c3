import { describe, expect, test } from 'vitest';
import type { LaunchOptions } from '../../src/options/launch-options.ts';
import { elasticPytorchJob, oldPytorchJob, pytorchJob, trainJob } from '../support/operator-environments.ts';
import { parsed, refusal } from './parsed.ts';

const elastic = elasticPytorchJob('1:3');

const three = { min: 3, max: 3 };
const one = { min: 1, max: 1 };
const master = { masterAddress: 'job-master-0', masterPort: 23456 };
const atMaster = { backend: 'static', endpoint: { host: 'job-master-0', port: 23456 } } as const;
const noted = (processes: string) => [
  `RANK=2 is the rank of this node (2 of 3). Its ${processes} receive their own ranks.`,
];

/** What srun sets for a launcher. */
const slurmStep = (node: number, nodes: number, tasks: number): Record<string, string> => ({
  SLURM_JOB_ID: '42',
  SLURM_NODEID: String(node),
  SLURM_PROCID: String(node),
  SLURM_NTASKS: String(tasks),
  SLURM_STEP_NUM_TASKS: String(tasks),
  SLURM_NNODES: String(nodes),
  SLURM_JOB_NODELIST: 'node[01-03]',
});

type Row = [what: string, args: string, env: Record<string, string>, means: object, warnings?: string[]];

describe('reads the environment of', () => {
  test.each<Row>([
    [
      'the master of a PyTorchJob',
      '',
      pytorchJob(0, 3, 1),
      { nodes: three, nodeRank: 0, processesPerNode: 1, ...master, rendezvous: atMaster },
    ],
    [
      'a worker of a PyTorchJob',
      '',
      pytorchJob(2, 3, 1),
      { nodes: three, nodeRank: 2, rendezvous: atMaster },
    ],
    [
      'a node of a Slurm step',
      '--nproc-per-node 4',
      slurmStep(2, 3, 3),
      {
        nodes: three,
        nodeRank: 2,
        processesPerNode: 4,
        masterAddress: 'node01',
        masterPort: 15_042,
        rendezvous: { backend: 'static', endpoint: { host: 'node01', port: 15_042 } },
      },
    ],
    [
      'a Slurm step whose nodes are options',
      '--nnodes 2 --rdzv-backend c10d --rdzv-endpoint head:29500 --rdzv-id 7',
      slurmStep(1, 2, 2),
      {
        nodes: { min: 2, max: 2 },
        masterAddress: undefined,
        rendezvous: { backend: 'c10d', endpoint: { host: 'head', port: 29_500 } },
      },
    ],
    [
      'a job of one node in each task of Slurm',
      '--nnodes 1',
      slurmStep(1, 2, 2),
      { nodes: one, nodeRank: 0 },
    ],
    ['a Slurm step of one node', '--nproc-per-node 4', slurmStep(0, 1, 1), { nodes: one, nodeRank: 0 }],
    [
      'a PyTorchJob with two processes per node: RANK is the node',
      '',
      pytorchJob(2, 3, 2),
      { nodes: three, nodeRank: 2, processesPerNode: 2 },
      noted('2 processes'),
    ],
    [
      'a PyTorchJob with nprocPerNode auto, which the operator counts as 1',
      '',
      pytorchJob(2, 3, 'auto'),
      { nodes: three, nodeRank: 2, processesPerNode: 'auto' },
      noted('processes'),
    ],
    [
      'a PyTorchJob with more processes by a flag than in the manifest',
      '--nproc 4',
      pytorchJob(2, 3, 2),
      { nodes: three, nodeRank: 2, processesPerNode: 4 },
      noted('4 processes'),
    ],
    [
      'a PyTorchJob of one replica, without its DNS name',
      '',
      pytorchJob(0, 1, 2),
      {
        nodes: one,
        nodeRank: 0,
        processesPerNode: 2,
        masterAddress: undefined,
        masterPort: undefined,
        rendezvous: { endpoint: undefined },
      },
    ],
    [
      'the master of an old PyTorchJob, whose MASTER_ADDR is localhost',
      '',
      oldPytorchJob(0, 3),
      { nodes: three, nodeRank: 0, masterAddress: 'localhost', masterPort: 23456 },
    ],
    [
      'a worker of an old PyTorchJob',
      '',
      oldPytorchJob(1, 3),
      { nodes: three, nodeRank: 1, processesPerNode: 1, ...master, rendezvous: atMaster },
    ],
    [
      'RANK and WORLD_SIZE with two processes per node: RANK counts nodes, WORLD_SIZE processes',
      '--nproc 2',
      { ...oldPytorchJob(2, 3), WORLD_SIZE: '6' },
      { nodes: three, nodeRank: 2, processesPerNode: 2 },
      noted('2 processes'),
    ],
    [
      'RANK and WORLD_SIZE with one process per CPU: WORLD_SIZE counts nodes',
      '--nproc auto',
      oldPytorchJob(2, 3),
      { nodes: three, nodeRank: 2, processesPerNode: 'auto' },
      noted('processes'),
    ],
    ['a world of one', '', { RANK: '0', WORLD_SIZE: '1' }, { nodes: one, nodeRank: 0 }],
    [
      'a TrainJob',
      '',
      trainJob(1, 2, '2'),
      {
        nodes: { min: 2, max: 2 },
        nodeRank: 1,
        processesPerNode: 2,
        masterAddress: 'job-node-0-0.job',
        masterPort: 29500,
        rendezvous: { backend: 'static', endpoint: { host: 'job-node-0-0.job', port: 29500 } },
      },
    ],
    [
      'a TrainJob of one node',
      '',
      trainJob(0, 1, 'auto'),
      { nodes: one, nodeRank: 0, masterAddress: undefined, masterPort: undefined },
    ],
    [
      'an elastic PyTorchJob',
      '',
      elastic,
      {
        nodes: { min: 1, max: 3 },
        nodeRank: undefined,
        processesPerNode: 'auto',
        maxRestarts: 10,
        rendezvous: { backend: 'c10d', endpoint: { host: 'job-worker-0', port: 23456 } },
      },
    ],
    [
      'an elastic PyTorchJob with a Master: nodes meet at the endpoint, which assigns ranks',
      '',
      { ...pytorchJob(2, 3, 1), ...elastic },
      {
        nodes: { min: 1, max: 3 },
        nodeRank: undefined,
        rendezvous: { backend: 'c10d', endpoint: { host: 'job-worker-0', port: 23456 } },
      },
    ],
    [
      'c10d without an endpoint: nodes meet at the master',
      '--nnodes 2 --rdzv-backend c10d --master-addr host0',
      {},
      { nodeRank: undefined, rendezvous: { backend: 'c10d', endpoint: { host: 'host0', port: undefined } } },
    ],
    [
      'c10d with one node, a common torchrun command on one machine',
      '--rdzv-backend c10d --rdzv-endpoint localhost:29400 --nproc 2',
      {},
      { nodes: one, nodeRank: 0, rendezvous: { backend: 'c10d', endpoint: undefined } },
    ],
    [
      'several nodes started by hand',
      '--nnodes 2 --node-rank 1 --master-addr host0',
      {},
      {
        nodes: { min: 2, max: 2 },
        nodeRank: 1,
        masterAddress: 'host0',
        masterPort: undefined,
        rendezvous: { backend: 'static', endpoint: { host: 'host0', port: undefined } },
      },
    ],
    ["several nodes without a rank: torchrun's 0", '--nnodes 2', {}, { nodeRank: 0 }],
    [
      'a TrainJob whose rank and master are overridden by flags',
      '--node-rank 0 --master-addr other',
      trainJob(1, 2, '1'),
      { nodeRank: 0, masterAddress: 'other', masterPort: 29500 },
    ],
    [
      'a WORLD_SIZE that --nnodes overrides',
      '--nnodes 2 --node-rank 1',
      { RANK: '1', WORLD_SIZE: '7' },
      { nodes: { min: 2, max: 2 }, nodeRank: 1 },
    ],
    [
      'standalone in a pod: a job of this node alone',
      '--standalone --nproc 2',
      pytorchJob(2, 3, 1),
      { nodes: one, nodeRank: 0, processesPerNode: 2, masterAddress: undefined, standalone: true },
    ],
    [
      '--standalone inside a worker',
      '--standalone',
      { RINGRUN_RUN_ID: 'a', LOCAL_RANK: '0', RANK: '0', WORLD_SIZE: '2' },
      { nodes: one, nodeRank: 0 },
    ],
    [
      'a TrainJob with PET_STANDALONE=0',
      '',
      { ...trainJob(1, 2, '1'), PET_STANDALONE: '0' },
      { nodes: { min: 2, max: 2 }, standalone: false },
    ],
    [
      'one node, ignoring the MASTER_PORT of a Kubernetes service named master',
      '',
      { MASTER_PORT: 'tcp://10.0.0.1:80' },
      { nodes: one, masterPort: undefined },
    ],
  ])('%s', (_, args, env, means, warnings = []) => {
    const found: { options: LaunchOptions; warnings: readonly string[] } = parsed(args, env);
    expect(found.options).toMatchObject(means);
    expect(found.warnings).toEqual(warnings);
  });
});

describe('refuses contradictory variables and names them:', () => {
  test.each<[what: string, args: string, env: Record<string, string>, says: string[]]>([
    [
      'a Slurm step with several launchers on each node',
      '--nproc-per-node 4',
      slurmStep(0, 3, 12),
      ['srun starts 12 launchers on 3 nodes', 'srun --ntasks-per-node=1 ringrun --nproc-per-node N train.js'],
    ],
    [
      'WORLD_SIZE',
      '',
      { ...pytorchJob(0, 3, 2), WORLD_SIZE: '4' },
      ['WORLD_SIZE is 4', 'PET_NNODES (3) × PET_NPROC_PER_NODE (2) is 6', 'Correct the manifest'],
    ],
    [
      'WORLD_SIZE with auto',
      '',
      { ...pytorchJob(0, 3, 'auto'), WORLD_SIZE: '4' },
      ['WORLD_SIZE is 4', 'PET_NNODES (3) × PET_NPROC_PER_NODE (auto) is a multiple of 3'],
    ],
    [
      'WORLD_SIZE without a number of processes',
      '',
      { PET_NNODES: '3', RANK: '0', WORLD_SIZE: '6' },
      ['WORLD_SIZE is 6', 'PET_NNODES (3) is 3'],
    ],
    [
      'RANK',
      '',
      { ...pytorchJob(1, 3, 1), RANK: '2' },
      ['RANK is 2', 'PET_NODE_RANK is 1', 'contradict each other'],
    ],
    [
      'a rank beyond the nodes',
      '',
      { ...trainJob(2, 2, '1') },
      ['PET_NODE_RANK: expected a rank from 0 to 1 in a job of 2 nodes, got 2'],
    ],
    [
      'the rank of a process instead of the rank of the node',
      '--nproc 2',
      { RANK: '3', WORLD_SIZE: '4' },
      ['RANK: expected a rank from 0 to 1 in a job of 2 nodes, got 3'],
    ],
    [
      'WORLD_SIZE that is not a multiple of the processes per node',
      '--nproc 2',
      { RANK: '0', WORLD_SIZE: '3' },
      ['WORLD_SIZE: expected a multiple of the 2 processes per node, got 3'],
    ],
    ['WORLD_SIZE alone', '', { WORLD_SIZE: '2' }, ['WORLD_SIZE is 2, but RANK is not set', '--standalone']],
    ['RANK alone', '', { RANK: '1' }, ['RANK is 1, but WORLD_SIZE is not set']],
    [
      'RANK that is not a number',
      '',
      { RANK: 'x', WORLD_SIZE: '2' },
      ["RANK: expected an integer of at least 0, got 'x'"],
    ],
    [
      'standalone for several nodes',
      '',
      { ...trainJob(0, 2, '1'), PET_STANDALONE: 'true' },
      ['PET_STANDALONE and PET_NNODES=2 contradict each other'],
    ],
    [
      'a launcher inside a worker',
      '--nproc 2',
      { RINGRUN_RUN_ID: 'a', LOCAL_RANK: '1', RANK: '1', WORLD_SIZE: '2' },
      ['RINGRUN_RUN_ID is a, LOCAL_RANK is 1', 'a job of its own', '--standalone'],
    ],
    [
      'a launcher inside a worker of torchrun',
      '',
      { TORCHELASTIC_RUN_ID: 'none', LOCAL_RANK: '0', RANK: '0', WORLD_SIZE: '1' },
      ['TORCHELASTIC_RUN_ID is none'],
    ],
  ])('%s', (_, args, env, says) => {
    for (const words of says) expect(refusal(args, env)).toContain(words);
  });
});
