import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RingrunError, Store } from '@ringrun/core';
import { Agreement } from '../../src/recovery/agreement.ts';
import { systemClock } from '../../src/clock.ts';
import type { Formation, Process } from '../../src/recovery/decide.ts';
import { goneKey, readJob, RecoveryKeys, removedKey } from '../../src/recovery/recovery-keys.ts';
import { SignsOfLife } from '../../src/recovery/signs-of-life.ts';
import { connectStore } from '../../src/store/client.ts';
import { StoreServer } from '../../src/store/server.ts';

let server: StoreServer;
let store: Store;
let keys: RecoveryKeys;

beforeEach(async () => {
  server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  store = await connectStore({ host: '127.0.0.1', port: server.port });
  keys = new RecoveryKeys(store, 'job');
});

afterEach(async () => {
  await store.close();
  await server.close();
});

const processOf = (rank: number, token = `p${rank}`): Process => ({
  token,
  rank,
  host: 'a',
  pid: process.pid,
  space: '',
});
const survivor = processOf(0);

function forming(...members: Process[]): Formation {
  return { kind: 'form', members, joining: [], source: undefined, committed: 0 };
}

/** Rank 1 dies in a generation, and its replacement joins in the next one. */
async function replace(generation: number, dead: Process, replacement: Process): Promise<void> {
  await keys.report(generation, survivor, { committed: 1, next: 'incomplete', isStep: true });
  await keys.setBlamed(generation, [dead]);
  await store.set(goneKey(dead.token), '');
  await keys.propose(generation, forming(survivor));
  await keys.addWaiting(replacement);
  await keys.setSignOfLife(replacement, 1);
  await keys.propose(generation + 1, forming(survivor, replacement));
  await keys.groupStore(generation + 1).set('rank-info/0', '');
  await keys.setAdmitted(replacement);
  await keys.removeWaiting(replacement.token);
  const members = [survivor, replacement];
  await keys.setCurrent({ generation: generation + 1, members, masterAddress: 'a', timeoutMs: null });
  await keys.forgetBefore(generation + 1);
}

test('deaths and replacements leave no keys behind', async () => {
  const counts: number[] = [];
  for (let i = 0; i < 20; i += 1) {
    await replace(2 * i + 1, processOf(1, `p1-${i}`), processOf(1, `p1-${i + 1}`));
    await keys.forget(`p1-${i}`);
    counts.push(await store.numKeys());
  }
  expect(new Set(counts)).toEqual(new Set([counts[0]]));
  expect((await readJob(store))?.living.map(({ token }) => token)).toEqual(['p0', 'p1-20']);
});

test('forget removes a process from those that wait to join, and ends the wait of its launcher', async () => {
  await keys.addWaiting(survivor);
  await keys.addWaiting(processOf(1));
  await store.set(goneKey('p1'), '');
  const removed = store.wait([removedKey('p1')]);
  await keys.forget('p1');
  await removed;
  expect(await keys.waiting()).toEqual([survivor]);
  const { waiting } = await keys.situation(1, [], () => false, 1);
  expect(waiting).toEqual([survivor]);
});

test('a late verdict has no effect', async () => {
  const first = await keys.propose(1, forming(survivor));
  expect(first).toMatchObject({ generation: 1, verdict: { members: [survivor] } });
  expect(await keys.propose(1, forming(processOf(1)))).toEqual(first);
  const third = await keys.propose(3, forming(survivor));
  expect(await keys.propose(2, forming(processOf(1)))).toEqual(third);
  expect(await keys.newestVerdict()).toEqual(third);
});

test('a process that was stopped for several generations is removed, after their keys were deleted', async () => {
  const late = processOf(1, 'p1-0');
  await replace(1, late, processOf(1, 'p1-1'));
  await replace(3, processOf(1, 'p1-1'), processOf(1, 'p1-2'));
  const signs = new SignsOfLife(keys, late, systemClock, () => Promise.resolve());
  const options = { minRanks: 1, timeoutMs: 100, clock: systemClock };
  const agreement = new Agreement(late, keys, signs, options);
  const generation = { generation: 0, members: [survivor, late] };
  await agreement.leave(generation, undefined, { committed: 1, next: 'incomplete', isStep: true });
  const error = await agreement.agree(generation).then(
    () => undefined,
    (reason: unknown) => reason as RingrunError,
  );
  signs.stop();
  expect(error?.code).toBe('ERR_RANK_REMOVED');
  expect((await keys.newestVerdict())?.generation).toBe(4);
});
