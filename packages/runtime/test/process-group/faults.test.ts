import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';

const script = new URL('faults.script.ts', import.meta.url);

/** Longer than a test: a rank that waits for it fails the test. */
const foreverMs = 600_000;

async function job(worldSize: number, timeoutMs = foreverMs) {
  const env = { WORLD_SIZE: worldSize, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort() };
  return (rank: number, ...args: string[]) =>
    start(script, { ...env, RANK: rank, TEST_TIMEOUT_MS: timeoutMs }, args);
}

test('destroyProcessGroup after a failure does not wait for a store whose rank is stopped', async () => {
  const rank = await job(3);
  const [zero, one, two] = [rank(0, 'idle'), rank(1, 'destroy after a failure'), rank(2, 'idle')];
  await Promise.all([zero, one, two].map((child) => child.sees(/group of 3: sum 6/)));
  zero.kill('SIGSTOP');
  two.kill('SIGKILL');
  await one.sees(new RegExp(`failed: rank 2 \\(host ${hostname()}, pid ${two.pid}\\) is gone`));
  await one.sees(/^destroyed$/m);
  expect(await one.ended).toEqual({ code: 0, signal: null });
});

test('every rank names the rank that never joined, or that died after all had joined', async () => {
  // Two jobs at the same time: one waits for its timeout, the other for signs of life.
  const [incomplete, dying] = await Promise.all([job(4, 12_000), job(3)]);
  const dead = dying(1, 'die after joining');
  const bereaved = [dying(0, 'join'), dying(2, 'join')];
  const zero = incomplete(0, 'join');
  await zero.sees(/rank 0: waiting for ranks 1-3 to join/);
  // Their own timeouts end later than that of rank 0, which serves the store.
  for (const child of [zero, incomplete(1, 'join'), incomplete(3, 'join')]) {
    expect((await child.ended).code).toBe(1);
    expect(child.output().stderr).toMatch(
      /StoreTimeoutError: Rank \d of 4 waited \d+ s for rank 2 to join[.,]/,
    );
  }
  for (const child of bereaved) {
    expect((await child.ended).code).toBe(1);
    expect(child.output().stderr).toContain(
      `PeerDiedError: rank 1 (host ${hostname()}, pid ${dead.pid}) is gone: it joined, but`,
    );
  }
});

/** `npm run test:faults`. A unit test of `joinJob` shows it in `npm test`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';

test.runIf(isFull)(
  'a process takes the rank of one that was killed, or stopped, before all had joined',
  async () => {
    const rank = await job(4);
    const zero = rank(0, 'join');
    const [killed, stopped] = [rank(1, 'join'), rank(2, 'join')];
    await zero.sees(/waiting for rank 3 to join/);
    killed.kill('SIGKILL');
    stopped.kill('SIGSTOP');
    const others = [rank(1, 'join'), rank(2, 'join')];
    await Promise.all(others.map((child) => child.sees(/rank \d: waiting for rank 3 to join/)));
    for (const child of [zero, ...others, rank(3, 'join')]) {
      expect(await child.ended, child.output().stderr).toEqual({ code: 0, signal: null });
      expect(child.output().stdout).toBe('group of 4: sum 10\n');
    }
  },
  120_000,
);

test('survivors form groups with processes that replace dead ones, rank 0 included', async () => {
  const rank = await job(3);
  const [zero, one, two] = [rank(0, 'survive', '2'), rank(1, 'idle'), rank(2, 'survive', '2')];
  await Promise.all([zero, one, two].map((child) => child.sees(/group of 3: sum 6/)));
  one.kill('SIGKILL');
  const nextOne = rank(1, 'survive', '1');
  await Promise.all([zero, two].map((child) => child.sees(/(group of 3: sum 6[^]*){2}/)));
  await nextOne.sees(/group of 3: sum 6/);
  zero.kill('SIGKILL');
  for (const child of [rank(0, 'survive', '0'), nextOne, two]) {
    expect(await child.ended, child.output().stderr).toEqual({ code: 0, signal: null });
    expect(child.output().stdout).toMatch(/group of 3: sum 6\n$/);
  }
  expect(two.output().stdout.match(/group of 3: sum 6/g)).toHaveLength(3);
});

test('a rank whose store server never starts names rank 0', async () => {
  const rank = await job(2, 1000);
  const one = rank(1, 'join');
  expect((await one.ended).code).toBe(1);
  expect(one.output().stderr).toContain('Error: Rank 0, which serves the store, is missing: ');
});
