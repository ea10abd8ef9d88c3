import { expect, test } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';

const cycles = process.env['RINGRUN_FAULTS'] === 'full' ? 1000 : 40;

test(`groups form ${cycles} times in one process, even with a new process, without leaks`, async () => {
  const half = cycles / 2;
  const env = { WORLD_SIZE: 3, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort(), TO: cycles };
  const rank = (number: number, more: Record<string, number>) =>
    start(new URL('formed-again.script.ts', import.meta.url), { ...env, RANK: number, ...more });
  const [zero, one, two] = [rank(0, { DEATH: half }), rank(1, { DIE: half }), rank(2, { DEATH: half })];
  expect(await one.ended).toEqual({ code: null, signal: 'SIGKILL' });
  const replacement = rank(1, { FROM: half + 1 });
  for (const child of [zero, two, replacement]) {
    expect(await child.ended, child.output().stderr).toEqual({ code: 0, signal: null });
  }
  for (const child of [zero, two]) {
    const counts = [...child.output().stdout.matchAll(/(\d+) descriptors, (\d+) threads/g)];
    expect(counts).toHaveLength(cycles);
    // Sockets of the last group may still be closing, so that one count varies by 6.
    const least = (from: number, column: number) =>
      Math.min(...counts.slice(from, from + 10).map((count) => Number(count[column])));
    expect(least(cycles - 10, 1)).toBeLessThanOrEqual(least(10, 1) + 3);
    expect(least(cycles - 10, 2)).toBeLessThanOrEqual(least(10, 2) + 1);
  }
}, 300_000);
