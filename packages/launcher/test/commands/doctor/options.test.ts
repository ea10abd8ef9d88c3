import { expect, test } from 'vitest';
import { runDoctor } from '../../../src/commands/doctor/main.ts';
import { parseDoctorOptions } from '../../../src/commands/doctor/options.ts';

test('default: no master, port 29500, 30 s for each check', () => {
  expect(parseDoctorOptions([], {})).toEqual({
    master: undefined,
    port: 29500,
    nodeRank: undefined,
    nodes: undefined,
    timeoutMs: 30_000,
    json: false,
  });
});

test.each([
  // A PyTorchJob with a master, an elastic one, a TrainJob.
  [
    { MASTER_ADDR: 'job-master-0', MASTER_PORT: '23456', PET_NODE_RANK: '1', PET_NNODES: '3' },
    { master: 'job-master-0', port: 23456, nodeRank: 1, nodes: 3 },
  ],
  [
    { PET_RDZV_ENDPOINT: 'job-worker-0:23456', PET_NNODES: '1:4' },
    { master: 'job-worker-0', port: 23456, nodeRank: undefined, nodes: 4 },
  ],
  [
    { PET_MASTER_ADDR: 'job-node-0-0.job', PET_MASTER_PORT: '29500', PET_NODE_RANK: '0', PET_NNODES: '2' },
    { master: 'job-node-0-0.job', port: 29500, nodeRank: 0, nodes: 2 },
  ],
])('reads the variables of operators: %j', (env, expected) => {
  expect(parseDoctorOptions([], env)).toMatchObject(expected);
});

test('arguments, with dashes or underscores, override the environment', () => {
  const env = { MASTER_ADDR: 'other', MASTER_PORT: '1', PET_NODE_RANK: '3' };
  const given = [
    '--master_addr',
    'here',
    '--master-port=29500',
    '--node-rank',
    '0',
    '--timeout',
    '5',
    '--json',
  ];
  expect(parseDoctorOptions(given, env)).toMatchObject({
    master: 'here',
    port: 29500,
    nodeRank: 0,
    timeoutMs: 5000,
    json: true,
  });
});

test('--backend accepts the backends of initProcessGroup', () => {
  expect(parseDoctorOptions(['--backend', 'nccl'], {}).backend).toBe('nccl');
  expect(() => parseDoctorOptions(['--backend', 'mpi'], {})).toThrow("argument 'mpi' is invalid");
});

test('--secret-file is read like that of the launcher', async () => {
  expect(parseDoctorOptions(['--secret-file', '/run/secret'], {}).secretFile).toBe('/run/secret');
  const missing = runDoctor(['--secret-file', '/nowhere/secret']);
  await expect(missing).rejects.toThrow('--secret-file: expected a file with the secret of the job');
});
