import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../../rendezvous/src/store/client.ts';
import { StoreServer } from '../../../rendezvous/src/store/server.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';

async function job(worldSize: number) {
  const env = { WORLD_SIZE: worldSize, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort() };
  return (rank: number, more: Record<string, string | number> = {}, args: string[] = []) =>
    start(new URL('rendezvous.script.ts', import.meta.url), { ...env, RANK: rank, ...more }, args);
}

test('rank 1 first: reports that nothing listens yet, and joins after rank 0 starts', async () => {
  const rank = await job(2);
  const one = rank(1);
  await one.sees(
    /ringrun: rank 1: waiting for the store at 127\.0\.0\.1:\d+: 127\.0\.0\.1 refuses the connection/,
  );
  const zero = rank(0);
  await Promise.all([zero.sees(/joined as 0 of 2/), one.sees(/joined as 1 of 2/)]);
  expect(await zero.ended).toEqual({ code: 0, signal: null });
  expect(await one.ended).toEqual({ code: 0, signal: null });
});

test('rank 0 first: names the missing ranks, and all join after they start', async () => {
  const rank = await job(3);
  const zero = rank(0);
  await zero.sees(/ringrun: rank 0: waiting for ranks 1-2 to join/);
  const others = [rank(2), rank(1)];
  for (const child of [zero, ...others]) {
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.output().stdout).toMatch(/sums 6 6 6 6 6\nleft\n$/);
  }
});

test('a rank may end without destroyProcessGroup; groups may follow each other', async () => {
  const rank = await job(2);
  const children = [rank(0, {}, ['again', 'forget']), rank(1, {}, ['again', 'forget'])];
  for (const child of children) {
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.output().stdout).toContain('joined again');
    expect(child.output().stderr).toBe('');
  }
});

test('uses the store of a launcher; restarted ranks use new keys and delete the old ones', async () => {
  const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const rank = await job(2);
  const env = { RINGRUN_STORE: server.endpoint, RINGRUN_RUN_ID: 'run' };
  for (const RINGRUN_RESTART_COUNT of [0, 1]) {
    const children = [rank(0, { ...env, RINGRUN_RESTART_COUNT }), rank(1, { ...env, RINGRUN_RESTART_COUNT })];
    for (const child of children) expect(await child.ended).toEqual({ code: 0, signal: null });
  }
  const store = await connectStore({ host: '127.0.0.1', port: server.port, timeoutMs: 5000 });
  onTestFinished(() => store.close());
  expect(await store.check(['restart/1/init/0/member/1'])).toBe(true);
  expect(await store.check(['restart/0/init/0/member/1'])).toBe(false);
});

test('refuses a rank that is taken, with both processes', async () => {
  const rank = await job(3);
  const zero = rank(0);
  const one = rank(1);
  // Rank 0 waits only for rank 2, so rank 1 has been claimed.
  await zero.sees(/waiting for rank 2 to join/);
  const second = rank(1);
  expect((await second.ended).code).toBe(1);
  const { stderr } = second.output();
  expect(stderr).toContain('ERR_RANK_TAKEN');
  expect(stderr).toContain(`process ${one.pid} on ${hostname()}`);
  expect(stderr).toContain(`process ${second.pid} on ${hostname()}`);
});

test('the second rank 0 on a port reports the process that uses the port', async () => {
  const rank = await job(2);
  const first = rank(0);
  await first.sees(/waiting for rank 1/);
  const second = rank(0);
  expect((await second.ended).code).toBe(1);
  const { stderr } = second.output();
  expect(stderr).toContain('ERR_PORT_IN_USE');
  expect(stderr).toMatch(new RegExp(`in use by process ${first.pid} \\(.*rendezvous\\.script\\.js\\)`));
  expect(stderr).toContain(`Rank 0 (process ${second.pid} on ${hostname()})`);
  expect(stderr).toContain('or set MASTER_PORT');
});

test('refuses ranks with another world size or run id, with both values', async () => {
  const rank = await job(2);
  const zero = rank(0, { RINGRUN_RUN_ID: 'a' });
  await zero.sees(/waiting for rank 1/);
  const one = rank(1, { WORLD_SIZE: 3, RINGRUN_RUN_ID: 'b' });
  expect((await one.ended).code).toBe(1);
  const { stderr } = one.output();
  expect(stderr).toContain('ERR_JOB_MISMATCH');
  expect(stderr).toContain('WORLD_SIZE is 2 there and 3 here');
  expect(stderr).toContain('RINGRUN_RUN_ID is "a" there and "b" here');
  expect(stderr).toContain(`process ${zero.pid} on ${hostname()}`);
});

test('names the missing rank at the timeout', async () => {
  const rank = await job(2);
  const zero = rank(0, { TEST_TIMEOUT_MS: 600 });
  expect((await zero.ended).code).toBe(1);
  expect(zero.output().stderr).toContain('Rank 0 of 2 waited 600 ms for rank 1 to join');
});

test('ranks that wait fail within seconds after rank 0 is killed, with the reason', async () => {
  const rank = await job(3);
  const zero = rank(0);
  const one = rank(1);
  await zero.sees(/waiting for rank 2/);
  const killedAt = performance.now();
  zero.kill('SIGKILL');
  expect((await one.ended).code).toBe(1);
  // Without detection it would wait for its timeout of 30 s; a busy machine may take some seconds.
  expect(performance.now() - killedAt).toBeLessThan(20_000);
  expect(one.output().stderr).toContain('ERR_STORE_LOST');
});

test('a rank that died is named at once when the others leave', async () => {
  const rank = await job(2);
  const [zero, one] = [rank(0), rank(1, {}, ['vanish'])];
  expect((await one.ended).code).toBe(0);
  const goneAt = performance.now();
  expect((await zero.ended).code).toBe(1);
  expect(performance.now() - goneAt).toBeLessThan(3000);
  expect(zero.output().stderr).toContain('ERR_PEER_DIED');
  expect(zero.output().stderr).toContain(`pid ${one.pid}`);
});

test('a script without a launcher is a world of one and opens no socket', async () => {
  const child = start(new URL('alone.script.ts', import.meta.url), {});
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(child.output().stdout).toBe('rank 0 of 1, 0 sockets, values 1 2 3\n');
});
