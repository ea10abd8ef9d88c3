import { describe, expect, test } from 'vitest';

import { decideTransport, requestedTransport } from '../../src/cpu/transport.ts';

type Card = Parameters<typeof decideTransport>[0][number];

const cardsOf = (...differences: Partial<Card>[]): Card[] =>
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
    expect(decideTransport(cardsOf({}, {}, {}))).toEqual({
      transport: 'shm',
      hosts: [0, 0, 0],
      note: undefined,
    });
  });

  test('uses TCP between hosts of one rank each, without a note', () => {
    expect(decideTransport(cardsOf({}, { hostId: 'two' }, { hostId: 'three' }))).toEqual({
      transport: 'tcp',
      hosts: [0, 1, 2],
      note: undefined,
    });
  });

  test('uses both if some ranks share a host, in any order of ranks', () => {
    const two = { hostId: 'two' };
    expect(decideTransport(cardsOf({}, two, {}, two, two))).toEqual({
      transport: 'mixed',
      hosts: [0, 1, 0, 1, 1],
      note: undefined,
    });
  });

  test('uses TCP if all ranks request it, without a note', () => {
    const told = { requested: 'tcp', sharedMemoryProblem: 'none' } as const;
    expect(decideTransport(cardsOf(told, told))).toEqual({
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
    expect(decideTransport(cardsOf({}, unable))).toEqual({ transport: 'tcp', hosts: [0, 1], note });
    expect(decideTransport(cardsOf({}, unable, {}))).toEqual({
      transport: 'mixed',
      hosts: [0, 1, 0],
      note,
    });
  });

  test('refuses shared memory if it is not possible, and names the ranks', () => {
    const shm = { requested: 'shm' } as const;
    expect(() => decideTransport(cardsOf(shm, { ...shm, hostId: 'two' }))).toThrow(
      /rank 1 \(host node1, pid 101\) cannot/,
    );
    expect(() => decideTransport(cardsOf(shm, { ...shm, sharedMemoryProblem: 'no memfd' }))).toThrow(
      /no memfd/,
    );
  });

  test('refuses ranks with different requests', () => {
    expect(() => decideTransport(cardsOf({ requested: 'tcp' }, {}))).toThrow(/rank 0 .* tcp, rank 1 .* auto/);
  });

  test('refuses a loopback address beside others', () => {
    const cards = cardsOf({ address: '127.0.1.1' }, { address: '10.0.0.2', hostId: 'two' });
    expect(() => decideTransport(cards)).toThrow(
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
