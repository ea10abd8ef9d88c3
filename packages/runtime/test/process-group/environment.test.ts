import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../src/process-group/environment.ts';

const two = { RANK: '1', WORLD_SIZE: '2' };

describe('reads', () => {
  test('an empty environment as a world of one process', () => {
    expect(readEnvironment({})).toEqual({
      rank: 0,
      worldSize: 1,
      localRank: 0,
      masterAddress: '127.0.0.1',
      masterPort: 29500,
      store: undefined,
      runId: '',
      restartCount: 0,
    });
  });

  test('every variable', () => {
    const env = {
      RANK: '5',
      WORLD_SIZE: '8',
      LOCAL_RANK: '1',
      MASTER_ADDR: 'mnist-master-0',
      MASTER_PORT: '23456',
      RINGRUN_STORE: 'tcp://[fd00::7]:41000',
      RINGRUN_RUN_ID: 'mnist',
      RINGRUN_RESTART_COUNT: '2',
    };
    expect(readEnvironment(env)).toEqual({
      rank: 5,
      worldSize: 8,
      localRank: 1,
      masterAddress: 'mnist-master-0',
      masterPort: 23456,
      store: { host: 'fd00::7', port: 41000 },
      runId: 'mnist',
      restartCount: 2,
    });
  });

  const srun = {
    SLURM_PROCID: '5',
    SLURM_NTASKS: '8',
    SLURM_LOCALID: '1',
    SLURM_JOB_ID: '1234567',
    SLURM_JOB_NODELIST: 'gpu[03-05,9],cpu1',
  };

  test('the tasks of a Slurm step', () => {
    const task = { rank: 5, worldSize: 8, localRank: 1, masterAddress: 'gpu03', masterPort: 19_567 };
    expect(readEnvironment(srun)).toMatchObject(task);
    const set = { MASTER_ADDR: 'head', MASTER_PORT: '29501' };
    expect(readEnvironment({ ...srun, ...set })).toMatchObject({
      ...task,
      masterAddress: 'head',
      masterPort: 29_501,
    });
    // A launcher of a task starts processes with their own ranks.
    expect(readEnvironment({ ...srun, ...two, LOCAL_RANK: '0' })).toMatchObject({ rank: 1, worldSize: 2 });
    // The shell of salloc is no task.
    expect(readEnvironment({ SLURM_NTASKS: '8' })).toMatchObject({ rank: 0, worldSize: 1 });
  });

  test.each([
    ['node7', 'node7'],
    ['node7,node8', 'node7'],
    ['a[1,3-4]b[08-9],c', 'a1b08'],
    ['login-2.cluster', 'login-2.cluster'],
  ])('the first host of %s', (SLURM_JOB_NODELIST, masterAddress) => {
    expect(readEnvironment({ ...srun, SLURM_JOB_NODELIST })).toMatchObject({ masterAddress });
  });

  test.each([
    ['8', '8'],
    ['-1', '8'],
    ['0', 'many'],
  ])('no task %s of %s', (SLURM_PROCID, SLURM_NTASKS) => {
    expect(() => readEnvironment({ ...srun, SLURM_PROCID, SLURM_NTASKS })).toThrow(
      `SLURM_PROCID is "${SLURM_PROCID}" and SLURM_NTASKS is "${SLURM_NTASKS}"`,
    );
  });

  test('an empty variable as not set', () => {
    expect(readEnvironment({ RANK: '', WORLD_SIZE: ' ', MASTER_PORT: '' })).toEqual(readEnvironment({}));
  });

  test('a service link in MASTER_PORT as not set, where no port is needed', () => {
    const MASTER_PORT = 'tcp://10.0.0.1:80';
    expect(readEnvironment({ MASTER_PORT })).toEqual(readEnvironment({}));
    const launched = { ...two, RINGRUN_STORE: 'tcp://127.0.0.1:41000' };
    expect(readEnvironment({ ...launched, MASTER_PORT })).toEqual(
      readEnvironment({ ...launched, MASTER_PORT: undefined }),
    );
    expect(() => readEnvironment({ ...two, MASTER_PORT })).toThrow(
      'MASTER_PORT is "tcp://10.0.0.1:80", which Kubernetes sets for a service named master, expected an integer from 1 to 65535. Set MASTER_PORT in the pod',
    );
  });

  test('the environment only if the program sets nothing', () => {
    expect(readEnvironment(two, { rank: 3, worldSize: 4 })).toMatchObject({ rank: 3, worldSize: 4 });
    expect(readEnvironment(two, { rank: 0 })).toMatchObject({ rank: 0, worldSize: 2 });
  });
});

describe('refuses, with the variable and its value', () => {
  const cases: [env: Record<string, string>, message: RegExp][] = [
    [{ RANK: '1' }, /RANK is 1, but WORLD_SIZE is not set/],
    [{ WORLD_SIZE: '2' }, /WORLD_SIZE is 2, but RANK is not set/],
    [{ RANK: '0', WORLD_SIZE: 'two' }, /WORLD_SIZE is "two", expected an integer from 1 to 1048576/],
    [{ RANK: '0', WORLD_SIZE: '2.5' }, /WORLD_SIZE is "2\.5"/],
    [{ RANK: '0', WORLD_SIZE: '0' }, /WORLD_SIZE is "0", expected an integer from 1 to 1048576/],
    [{ RANK: '0', WORLD_SIZE: '1048577' }, /WORLD_SIZE is "1048577", expected an integer from 1 to 1048576/],
    [
      { RANK: '1', WORLD_SIZE: '2', MASTER_ADDR: '-x' },
      /MASTER_ADDR is "-x", expected a host name or an IP address/,
    ],
    [{ RANK: '-1', WORLD_SIZE: '2' }, /RANK is "-1", expected an integer of at least 0/],
    [{ RANK: '2', WORLD_SIZE: '2' }, /RANK is 2 and WORLD_SIZE is 2, .*from 0 to 1/],
    [{ ...two, MASTER_PORT: '65536' }, /MASTER_PORT is "65536", expected an integer from 1 to 65535/],
    [{ ...two, MASTER_PORT: '0' }, /MASTER_PORT is "0"/],
    [{ ...two, MASTER_PORT: '0x10' }, /MASTER_PORT is "0x10"/],
    [{ ...two, LOCAL_RANK: 'a' }, /LOCAL_RANK is "a"/],
    [{ ...two, RINGRUN_RESTART_COUNT: '-1' }, /RINGRUN_RESTART_COUNT is "-1"/],
    [{ ...two, RINGRUN_STORE: 'host:1' }, /RINGRUN_STORE is "host:1", expected tcp:\/\/host:port/],
    [{ ...two, RINGRUN_STORE: 'tcp://host:0' }, /RINGRUN_STORE is "tcp:\/\/host:0"/],
  ];
  test.each(cases)('%o', (env, message) => {
    let error: unknown;
    try {
      readEnvironment(env);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(message);
  });

  test('an invalid rank or world size of the program', () => {
    expect(() => readEnvironment(two, { rank: 1.5 })).toThrow(
      /rank is "1.5", expected an integer of at least 0/,
    );
    expect(() => readEnvironment({}, { worldSize: NaN })).toThrow(/worldSize is "NaN"/);
  });
});
