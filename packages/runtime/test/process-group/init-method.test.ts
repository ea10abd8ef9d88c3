import { HashStore } from '@ringrun/collectives';
import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, test } from 'vitest';
import { settleInitMethod } from '../../src/process-group/init-method.ts';

const store = new HashStore();
const one = { rank: 1, worldSize: 2 };
const common = { ...one, localRank: 0, runId: '', restartCount: 0 };

describe('resolves', () => {
  const cases: [what: string, choices: object, env: Record<string, string>, expected: object][] = [
    [
      'no options and no variables: a world of one',
      {},
      {},
      {
        ...common,
        rank: 0,
        worldSize: 1,
        masterAddress: '127.0.0.1',
        place: { kind: 'rank 0', at: { host: '127.0.0.1', port: 29500 } },
      },
    ],
    [
      'the environment',
      { initMethod: 'env://' },
      { RANK: '1', WORLD_SIZE: '2', MASTER_ADDR: 'a', MASTER_PORT: '7' },
      { ...common, masterAddress: 'a', place: { kind: 'rank 0', at: { host: 'a', port: 7 } } },
    ],
    [
      'the environment, with the store of a launcher',
      {},
      { RANK: '1', WORLD_SIZE: '2', RINGRUN_STORE: 'tcp://b:8' },
      { ...common, masterAddress: '127.0.0.1', place: { kind: 'launcher', at: { host: 'b', port: 8 } } },
    ],
    [
      'rank and size in the URL of the environment, before those that are set',
      { initMethod: 'env://?rank=1&world_size=2' },
      { RANK: '0', WORLD_SIZE: '9', MASTER_ADDR: 'a' },
      { ...common, masterAddress: 'a', place: { kind: 'rank 0', at: { host: 'a', port: 29500 } } },
    ],
    [
      'an address, ignoring that of the environment',
      { initMethod: 'tcp://10.1.1.20:23456', ...one },
      { RANK: '0', WORLD_SIZE: '9', MASTER_ADDR: 'a', RINGRUN_STORE: 'tcp://b:8' },
      {
        ...common,
        masterAddress: '10.1.1.20',
        place: { kind: 'rank 0', at: { host: '10.1.1.20', port: 23456 } },
      },
    ],
    [
      'an IPv6 address, with rank and size',
      { initMethod: 'tcp://[fd00::7]:41000?rank=1&world_size=2' },
      { LOCAL_RANK: '1', RINGRUN_RESTART_COUNT: '3' },
      {
        ...common,
        localRank: 1,
        restartCount: 3,
        masterAddress: 'fd00::7',
        place: { kind: 'rank 0', at: { host: 'fd00::7', port: 41000 } },
      },
    ],
    [
      'a file, with rank and size',
      { initMethod: 'file:///mnt/nfs/shared%20file?world_size=2&rank=1' },
      {},
      { ...common, masterAddress: undefined, place: { kind: 'file', path: '/mnt/nfs/shared file' } },
    ],
    [
      'a file, ignoring the master of the environment',
      { initMethod: 'file:///f', ...one },
      { MASTER_ADDR: 'a' },
      { ...common, masterAddress: 'a', place: { kind: 'file', path: '/f' } },
    ],
    [
      'a store',
      { store, ...one },
      {},
      { ...common, masterAddress: undefined, place: { kind: 'given', store } },
    ],
  ];
  test.each(cases)('%s', (_, choices, env, expected) => {
    expect(settleInitMethod(choices, env)).toEqual(expected);
  });
});

describe('refuses', () => {
  const cases: [choices: object, message: RegExp][] = [
    [
      { initMethod: 'env://', store, ...one },
      /expected either store or initMethod, got a store and the initMethod "env:\/\/"/,
    ],
    [{ store, rank: 0 }, /with a store, expected the options rank and worldSize, but worldSize is missing/],
    [
      { initMethod: 'tcp://h:1' },
      /"tcp:\/\/h:1", expected .*, but rank and worldSize are missing.*'env:\/\/'/,
    ],
    [{ initMethod: 'tcp://h:1', worldSize: 2 }, /rank is missing/],
    [{ initMethod: 'tcp://h:1?rank=0' }, /worldSize is missing/],
    [{ initMethod: 'file:///f', rank: 0 }, /worldSize is missing/],
    [
      { initMethod: 'tcp://h:1?rank=0&world_size=2', rank: 0 },
      /expected rank and world size either .* got both/,
    ],
    [{ initMethod: 'tcp://h:1?rank=x&world_size=2' }, /rank is "NaN", expected an integer of at least 0/],
    [{ initMethod: 'tcp://h:1?rank=2&world_size=2' }, /RANK is 2 and WORLD_SIZE is 2/],
    [{ initMethod: 'tcp://h:1?node=0' }, /expected \?rank=…&world_size=…, got "node"/],
    [{ initMethod: 'tcp://h', ...one }, /initMethod is "tcp:\/\/h", expected tcp:\/\/host:port/],
    [{ initMethod: 'tcp://h:0', ...one }, /initMethod is "tcp:\/\/h:0", expected tcp:\/\/host:port/],
    [
      { initMethod: 'tcp://h:1/path', ...one },
      /initMethod is "tcp:\/\/h:1\/path", expected tcp:\/\/host:port/,
    ],
    [{ initMethod: 'file://f', ...one }, /expected 'file:\/\/\/path', with three slashes/],
    [{ initMethod: 'file:///', ...one }, /expected 'file:\/\/\/path'/],
    [{ initMethod: 'env://host', ...one }, /initMethod is "env:\/\/host", expected 'env:\/\/'/],
    [
      { initMethod: 'mpi://', ...one },
      /"mpi:\/\/", expected 'env:\/\/' .*'tcp:\/\/host:port' .*'file:\/\/\/path'/,
    ],
    [{ initMethod: '29500', ...one }, /initMethod is "29500", expected/],
  ];
  test.each(cases)('%o', (choices, message) => {
    let error: unknown;
    try {
      settleInitMethod(choices, { RANK: '0', WORLD_SIZE: '2' });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(message);
  });
});
