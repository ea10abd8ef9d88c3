import { describe, expect, test } from 'vitest';

import { requestedTransport } from '../../src/cpu/requested-transport.ts';
import { decideTransport } from '../../src/cpu/transport.ts';

type RankInfo = Parameters<typeof decideTransport>[0][number];

const infosOf = (...differences: Partial<RankInfo>[]): RankInfo[] =>
  differences.map((difference, rank) => ({
    rank,
    host: `node${rank}`,
    pid: 100 + rank,
    hostId: 'one',
    requested: null,
    sharedMemoryProblem: '',
    address: '127.0.0.1',
    ...difference,
  }));

describe('decideTransport', () => {
  test('uses shared memory if all ranks are on one host', () => {
    expect(decideTransport(infosOf({}, {}, {}))).toEqual({
      transport: 'shm',
      hosts: [0, 0, 0],
      note: undefined,
    });
  });

  test('uses TCP between hosts of one rank each, without a note', () => {
    expect(decideTransport(infosOf({}, { hostId: 'two' }, { hostId: 'three' }))).toEqual({
      transport: 'tcp',
      hosts: [0, 1, 2],
      note: undefined,
    });
  });

  test('uses both if some ranks share a host, in any order of ranks', () => {
    const two = { hostId: 'two' };
    expect(decideTransport(infosOf({}, two, {}, two, two))).toEqual({
      transport: 'mixed',
      hosts: [0, 1, 0, 1, 1],
      note: undefined,
    });
  });

  test('uses TCP if all ranks request it, without a note', () => {
    const request = { requested: 'tcp', sharedMemoryProblem: 'none' } as const;
    expect(decideTransport(infosOf(request, request))).toEqual({
      transport: 'tcp',
      hosts: [0, 1],
      note: undefined,
    });
  });

  test('uses TCP to a rank of the same host that cannot share memory, with a note', () => {
    const unable = { sharedMemoryProblem: 'memfd_create: Operation not permitted' };
    const note =
      'using TCP between ranks of one host, because rank 1 (host node1, pid 101) has no shared memory: ' +
      'memfd_create: Operation not permitted';
    expect(decideTransport(infosOf({}, unable))).toEqual({ transport: 'tcp', hosts: [0, 1], note });
    expect(decideTransport(infosOf({}, unable, {}))).toEqual({
      transport: 'mixed',
      hosts: [0, 1, 0],
      note,
    });
  });

  test('refuses shared memory if it is not possible, and names the ranks', () => {
    const shm = { requested: 'shm' } as const;
    expect(() => decideTransport(infosOf(shm, { ...shm, hostId: 'two' }))).toThrow(
      /rank 1 \(host node1, pid 101\) cannot/,
    );
    expect(() => decideTransport(infosOf(shm, { ...shm, sharedMemoryProblem: 'no memfd' }))).toThrow(
      /no memfd/,
    );
  });

  test('refuses ranks with different requests', () => {
    expect(() => decideTransport(infosOf({ requested: 'tcp' }, {}))).toThrow(/rank 0 .* tcp, rank 1 .* auto/);
  });

  test('refuses a loopback address together with others', () => {
    const infos = infosOf({ address: '127.0.1.1' }, { address: '10.0.0.2', hostId: 'two' });
    expect(() => decideTransport(infos)).toThrow(
      /rank 0 .* advertises 127\.0\.1\.1, which rank 1 .* at 10\.0\.0\.2/,
    );
  });
});

describe('requestedTransport', () => {
  test('prefers the option to the environment', () => {
    expect(requestedTransport('tcp', { RINGRUN_TRANSPORT: 'shm' })).toBe('tcp');
    expect(requestedTransport(undefined, { RINGRUN_TRANSPORT: 'shm' })).toBe('shm');
    expect(requestedTransport(undefined, {})).toBeNull();
  });

  test('refuses an unknown name, and names its source', () => {
    expect(() => requestedTransport(undefined, { RINGRUN_TRANSPORT: 'rdma' })).toThrow(
      /RINGRUN_TRANSPORT is 'rdma'/,
    );
    expect(() => requestedTransport('rdma', {})).toThrow(/option 'transport' is 'rdma'/);
  });
});
