import { StoreTimeoutError } from '@ringrun/collectives';
import { expect, onTestFinished, test } from 'vitest';
import { parseEndpoint, formatHostPort } from '../../src/store/endpoint.ts';
import {
  describeMissingMembers,
  describeSelf,
  formatRanks,
  joinJob,
  sayGoodbye,
  waitForGoodbyes,
} from '../../src/process-group/membership.ts';
import { connectStore } from '../../src/store/client.ts';
import { StoreServer } from '../../src/store/server.ts';

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
  await Promise.all([2, 0, 1].map((rank) => joinJob(store, describeSelf(rank, 3, 'run'), 5000)));
});

test('refuses a second process with the same rank, the first keeps it', async () => {
  const store = await openStore();
  const first = joinJob(store, { ...describeSelf(1, 2, ''), host: 'node-a', pid: 11 }, 5000);
  const second = { ...describeSelf(1, 2, ''), host: 'node-b', pid: 22 };
  await expect(joinJob(store, second, 5000)).rejects.toMatchObject({
    code: 'ERR_RANK_TAKEN',
    message: expect.stringMatching(/process 11 on node-a .* process 22 on node-b/) as string,
  });
  await joinJob(store, describeSelf(0, 2, ''), 5000);
  await first;
});

test('a member of another job claims no rank', async () => {
  const store = await openStore();
  const joining = joinJob(store, describeSelf(0, 2, 'a'), 5000);
  await expect(joinJob(store, describeSelf(1, 4, 'a'), 5000)).rejects.toMatchObject({
    code: 'ERR_JOB_MISMATCH',
  });
  await expect(joinJob(store, describeSelf(1, 2, 'b'), 5000)).rejects.toThrow(/"a" there and "b" here/);
  await joinJob(store, describeSelf(1, 2, 'a'), 5000);
  await joining;
});

test('names the missing members at the timeout', async () => {
  const store = await openStore();
  const error = await joinJob(store, describeSelf(1, 4, ''), 50).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(StoreTimeoutError);
  expect((error as Error).message).toContain('Rank 1 of 4 waited 50 ms for ranks 0 and 2-3 to join');
});

test('waitForGoodbyes resolves after every rank has called sayGoodbye', async () => {
  const store = await openStore();
  await sayGoodbye(store, 0);
  await expect(waitForGoodbyes(store, 2, 30)).rejects.toMatchObject({ missingKeys: ['goodbye/1'] });
  await sayGoodbye(store, 1);
  await waitForGoodbyes(store, 2, 1000);
});

test('formats lists of ranks', () => {
  expect(formatRanks([3])).toBe('rank 3');
  expect(formatRanks([7, 1, 2, 3])).toBe('ranks 1-3 and 7');
  expect(formatRanks([0, 2, 4])).toBe('ranks 0, 2 and 4');
  expect(describeMissingMembers(['restart/0/init/0/member/1', 'restart/0/init/0/member/2'])).toBe(
    'ranks 1-2 to join',
  );
  expect(describeMissingMembers(['goodbye/1'])).toBe('rank 1 to leave');
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
