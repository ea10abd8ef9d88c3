import { StoreTimeoutError } from '@ringrun/core';
import { expect, test, vi } from 'vitest';
import { BoundedWait } from '../../src/store/bounded-wait.ts';
import { WaitReporter } from '../../src/store/wait-reporter.ts';

/** The lines and the end of a loop that turns every 500 ms, by a simulated clock. */
function loop(timeoutMs: number, turns: number): { lines: string[]; error: unknown; endedAt: number } {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const lines: string[] = [];
  try {
    const wait = new BoundedWait(
      timeoutMs,
      new WaitReporter('rank 1', (line) => lines.push(line)),
      'End it.',
    );
    for (let turn = 0; turn < turns; turn += 1, now += 500) wait.goOn('rank 0 to end');
    return { lines, error: undefined, endedAt: now };
  } catch (error) {
    return { lines, error, endedAt: now };
  } finally {
    clock.mockRestore();
  }
}

test('a loop prints a line every 5 s, and ends at its deadline with the reason', () => {
  const { lines, error, endedAt } = loop(20_000, 1000);
  expect(lines).toEqual(
    [2, 7, 12, 17].map((s) => `ringrun: rank 1: waiting for rank 0 to end (${s} s of 20 s)`),
  );
  expect(endedAt).toBe(20_000);
  expect(error).toBeInstanceOf(StoreTimeoutError);
  expect((error as Error).message).toBe('Waited 20 s for rank 0 to end. End it.');
});

test('a wait whose end another process guarantees has lines, but no deadline', () => {
  const { lines, error } = loop(Infinity, 100);
  expect(lines).toHaveLength(10);
  expect(error).toBeUndefined();
});
