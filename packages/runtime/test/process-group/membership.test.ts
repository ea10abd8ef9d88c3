import { StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { expect, onTestFinished, test } from 'vitest';
import { parseEndpoint, formatHostPort } from '../../../rendezvous/src/store/endpoint.ts';
import {
  describeMissingMembers,
  describeSelf,
  sayGoodbye,
  waitForGoodbyes,
} from '../../src/process-group/membership.ts';
import { heartbeatIntervalMs } from '../../src/process-group/heartbeat.ts';
import { joinJob } from '../../src/process-group/joining.ts';
import { PrefixStore } from '../../../rendezvous/src/store/prefix-store.ts';
import { connectStore } from '../../../rendezvous/src/store/client.ts';
import { StoreServer } from '../../../rendezvous/src/store/server.ts';

async function openStore() {
  const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const store = await connectStore({ host: '127.0.0.1', port: server.port, timeoutMs: 10_000 });
  onTestFinished(async () => {
    await store.close();
    await server.close();
  });
  return store;
}

test('members with the same settings join in any order', async () => {
  const store = await openStore();
  await Promise.all(
    [2, 0, 1].map((rank) => joinJob(store, describeSelf(rank, 3, 'run'), { timeoutMs: 5000 })),
  );
});

test('refuses a second process with the same rank, the first keeps it', async () => {
  const store = await openStore();
  const first = joinJob(store, { ...describeSelf(1, 2, ''), host: 'node-a', pid: 11 }, { timeoutMs: 5000 });
  const second = { ...describeSelf(1, 2, ''), host: 'node-b', pid: 22 };
  await expect(joinJob(store, second, { timeoutMs: 5000 })).rejects.toMatchObject({
    code: 'ERR_RANK_TAKEN',
    message: expect.stringMatching(/process 11 on node-a .* process 22 on node-b/) as string,
  });
  await joinJob(store, describeSelf(0, 2, ''), { timeoutMs: 5000 });
  await first;
});

test('a member of another job claims no rank', async () => {
  const store = await openStore();
  const joining = joinJob(store, describeSelf(0, 2, 'a'), { timeoutMs: 5000 });
  await expect(joinJob(store, describeSelf(1, 4, 'a'), { timeoutMs: 5000 })).rejects.toMatchObject({
    code: 'ERR_JOB_MISMATCH',
  });
  await expect(joinJob(store, describeSelf(1, 2, 'b'), { timeoutMs: 5000 })).rejects.toThrow(
    /"a" there and "b" here/,
  );
  await joinJob(store, describeSelf(1, 2, 'a'), { timeoutMs: 5000 });
  await joining;
});

test('names the missing members at the timeout', async () => {
  const store = await openStore();
  const error = await joinJob(store, describeSelf(1, 4, ''), { timeoutMs: 50 }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(StoreTimeoutError);
  expect((error as Error).message).toContain('Rank 1 of 4 waited 50 ms for ranks 0 and 2-3 to join');
});

test('a rank without signs of life is named as missing, and its rank can be claimed', async () => {
  const store = await openStore();
  const options = { timeoutMs: 20_000, intervalMs: 20 };
  const dead = JSON.stringify(describeSelf(1, 3, ''));
  await store.compareSet('round', '', '0');
  await store.set('init/0/member/1', dead);
  const joined = [0, 1].map((rank) => joinJob(store, describeSelf(rank, 3, ''), options));
  while (Buffer.from(await store.get('init/0/member/1')).toString() === dead);
  await Promise.all([...joined, joinJob(store, describeSelf(2, 3, ''), options)]);

  await store.set('init/1/member/1', dead);
  const error = await joinJob(store, describeSelf(0, 3, ''), { timeoutMs: 3000, intervalMs: 20 }).catch(
    String,
  );
  expect(error).toContain('Rank 0 of 3 waited 3 s for ranks 1-2 to join');
});

test('a rank that has joined restores a claim that others deleted, until the group is formed', async () => {
  const store = await openStore();
  const joining = [0, 1].map((rank) =>
    joinJob(store, describeSelf(rank, 2, ''), { timeoutMs: 20_000, intervalMs: 20 }),
  );
  const joined = await Promise.all(joining);
  await store.deleteKey('init/0/member/1');
  // Simulates a stop of the process.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await store.wait(['init/0/member/1'], { timeoutMs: 10_000 });
  for (const round of joined) round.formed();
});

test('ranks that gave up at their timeouts are not named as missing', async () => {
  const store = await openStore();
  const names = [0, 1, 3].map((rank) =>
    joinJob(store, describeSelf(rank, 4, ''), { timeoutMs: 200 + rank * 200 }).catch(String),
  );
  for (const error of await Promise.all(names)) expect(error).toContain('for rank 2 to join');
});

test('ranks that would wait longer than rank 0, which serves the store, name the missing rank when it gives up', async () => {
  const store = await openStore();
  const options = { intervalMs: 20, servedByRank0: true };
  const others = [1, 3].map((rank) =>
    joinJob(store, describeSelf(rank, 4, ''), { ...options, timeoutMs: 60_000 }).catch(String),
  );
  const zero = joinJob(store, describeSelf(0, 4, ''), { ...options, timeoutMs: 500 }).catch(String);
  expect(await zero).toContain('Rank 0 of 4 waited 500 ms for rank 2 to join');
  for (const error of await Promise.all(others))
    expect(error).toMatch(/for rank 2 to join, until rank 0, which serves the store, gave up after \d+ ms/);
});

test('ranks that join again meet in the next round', async () => {
  const store = await openStore();
  const joinAll = () =>
    Promise.all([0, 1].map((rank) => joinJob(store, describeSelf(rank, 2, ''), { timeoutMs: 5000 })));
  await joinAll();
  await store.set('init/0/group/0/rank-info/0', 'of the first group');
  await joinAll();
  expect(Buffer.from(await store.get('round')).toString()).toBe('2');
  expect(await store.check(['init/0/job'])).toBe(false);
  const keys = await store.numKeys();
  for (let round = 2; round < 5; round += 1) await joinAll();
  expect(await store.numKeys(), 'keys of earlier rounds are deleted').toBe(keys);
});

/** Counts calls by kind. */
class CountingStore extends PrefixStore {
  readonly sets: string[] = [];
  others = 0;

  override set(key: string, value: string | Uint8Array): Promise<void> {
    this.sets.push(key);
    return super.set(key, value);
  }

  override get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array> {
    this.others += 1;
    return super.get(key, options);
  }

  override compareSet(...args: Parameters<PrefixStore['compareSet']>): Promise<Uint8Array> {
    this.others += 1;
    return super.compareSet(...args);
  }
}

test('a rank that waits for others calls the store twice for each sign of life', async () => {
  const whole = await openStore();
  const store = new CountingStore('job', whole);
  const options = { timeoutMs: 20_000, intervalMs: 50 };
  const join = (rank: number, of: Store) => joinJob(of, describeSelf(rank, 3, ''), options);
  const joined = [join(0, store), join(1, new PrefixStore('job', whole))];
  const signs = () => store.sets.filter((key) => key.endsWith('alive/0')).length;
  await expect.poll(signs, { timeout: 10_000 }).toBeGreaterThan(40);
  // Calls of joining itself, and of looking at the rank that has not joined.
  expect(store.others).toBeLessThan(1.5 * signs() + 20);
  await Promise.all([...joined, join(2, new PrefixStore('job', whole))]);
});

test('at most 1000 signs of life a second reach the store, for any number of ranks', () => {
  expect([2, 1000, 10_240].map(heartbeatIntervalMs)).toEqual([1000, 1000, 10_240]);
});

test('waitForGoodbyes resolves after every rank has called sayGoodbye', async () => {
  const store = await openStore();
  await sayGoodbye(store, 0);
  await expect(waitForGoodbyes(store, 2, 30)).rejects.toMatchObject({ missingKeys: ['goodbye/1'] });
  await sayGoodbye(store, 1);
  await waitForGoodbyes(store, 2, 1000);
});

test('describes the ranks that are missing', () => {
  expect(describeMissingMembers(['restart/0/init/0/member/1', 'restart/0/init/0/member/2'])).toBe(
    'ranks 1-2 to join',
  );
  expect(describeMissingMembers(['goodbye/1'])).toBe('rank 1 to leave');
  expect(describeMissingMembers(['group/0/gloo/rank-infos/0-255'])).toBe(
    'rank 0 to publish the addresses of all ranks',
  );
  expect(describeMissingMembers(['member/1', 'other'])).toBeUndefined();
  expect(describeMissingMembers([])).toBeUndefined();
});

test('parses and formats endpoints', () => {
  for (const text of ['tcp://127.0.0.1:29500', 'tcp://mnist-master-0.ns.svc:1', 'tcp://[fd00::7]:65535']) {
    expect(`tcp://${formatHostPort(parseEndpoint(text, 'X'))}`).toBe(text);
  }
  for (const text of [
    '127.0.0.1:1',
    'tcp://host',
    'tcp://:1',
    'tcp://h:65536',
    'tcp://h:0',
    'tcp://a:b:1',
    '',
  ]) {
    expect(() => parseEndpoint(text, 'X')).toThrow(/^X is /);
  }
});
