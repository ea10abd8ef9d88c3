import { expect, test } from 'vitest';
import { WaitReporter } from '../../src/store/wait-reporter.ts';

/** The lines about a wait that began so long ago. */
function linesAfter(waitedMs: number, timeoutMs: number): string[] {
  const lines: string[] = [];
  const reporter = new WaitReporter('rank 1', (line) => lines.push(line));
  const startedAt = performance.now() - waitedMs;
  for (let call = 0; call < 2; call += 1) reporter.report('rank 0', startedAt, timeoutMs);
  return lines;
}

test('a wait of some seconds prints one line', () => {
  expect(linesAfter(3000, 60_000)).toEqual(['ringrun: rank 1: waiting for rank 0 (3 s of 1 min)']);
  expect(linesAfter(3000, Infinity)).toEqual(['ringrun: rank 1: waiting for rank 0 (3 s of unlimited time)']);
});

test('a wait that has just begun prints nothing', () => {
  expect(linesAfter(500, 60_000)).toEqual([]);
});

test('a wait whose time is over prints nothing, even if a busy event loop reports it late', () => {
  expect(linesAfter(3000, 1000)).toEqual([]);
});
