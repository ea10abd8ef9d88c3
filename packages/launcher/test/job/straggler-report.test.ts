import { expect, test } from 'vitest';
import { describeStragglers } from '../../src/job/straggler-report.ts';

const worker = (rank: number, isStopped = false) => ({ rank, pid: 100 + rank, isStopped: () => isStopped });

test('names ranks that still run, and those that a signal has stopped', () => {
  expect(describeStragglers([worker(1)], 30_000)).toBe(
    'waiting for rank 1 (pid 101), which still runs 30 s after another rank finished',
  );
  expect(describeStragglers([worker(0), worker(3, true)], 90_000)).toBe(
    'waiting for rank 0 (pid 100), rank 3 (pid 103, stopped by a signal), which still run 1:30 min after another rank finished',
  );
});

test('names at most 8 ranks', () => {
  const many = Array.from({ length: 20 }, (_, rank) => worker(rank));
  expect(describeStragglers(many, 30_000)).toMatch(
    /^waiting for rank 0 .*rank 7 \(pid 107\), 12 more, which/,
  );
});
