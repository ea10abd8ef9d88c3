import { describe, expect, test } from 'vitest';
import { reportFailure } from '../../src/job/failure-report.ts';
import type { FailedRun, FailureReport } from '../../src/job/failure-report.ts';
import { findRootCause } from '../../src/job/find-root-cause.ts';
import type { WorkerOutcome } from '../../src/job/worker.ts';
import {
  exit,
  finished,
  lostPeer,
  process1,
  sentSignal,
  start,
  terminated,
  worker,
} from './worker-records.ts';

function reportOf(run: FailedRun): FailureReport {
  return reportFailure(run, findRootCause(run.workers)!.worker);
}

describe('the report', () => {
  test('has the error of a process that the launcher ended while it exited', () => {
    const workers = [
      lostPeer(0, start + 920),
      worker(1, { signal: 'SIGTERM', sentSignal }, { hostTime: start + 910 }),
    ];
    const report = reportOf({ host: 'node-7', startedAt: start, workers, oomKills: undefined });
    expect(report.exitCode).toBe(1);
    expect(report.text.trimEnd().split('\n').at(-1)).toBe(
      'ringrun: root cause: rank 1 on host node-7 (pid 101, local rank 1), 0.9 s after the start: ' +
        'Error: boom (the launcher sent SIGTERM before the process had exited)',
    );
  });

  test('ends with the root cause, after the other ranks', () => {
    const report = reportOf({
      host: 'node-7',
      startedAt: start,
      oomKills: 0,
      workers: [
        lostPeer(0, start + 1100),
        terminated(1),
        worker(2, { signal: 'SIGKILL' }),
        worker(3, { signal: 'SIGKILL', sentSignal, forced: true }),
        finished(4),
      ],
    });
    expect(report).toEqual({
      exitCode: 137,
      text: `\
ringrun: 3 of 4 other ranks ended as a consequence:
  rank 0 (pid 100) exited with code 1: PeerDiedError: rank 2 died, in allReduce #41 (float32, 10 elements, SUM)
  rank 1 (pid 101) ended by SIGTERM from the launcher
  rank 3 (pid 103) did not end on SIGTERM and was killed by the launcher
  rank 4 (pid 104) finished with exit code 0
ringrun: root cause: rank 2 on host node-7 (pid 102, local rank 2), 1.0 s after the start: killed by SIGKILL (signal 9: another process sent it, such as kill -9; not the OOM killer, as the cgroup's oom_kill count did not increase)
`,
    });
  });

  test('shows the stack, the last operation, and the message on the last line', () => {
    const error = {
      message: 'bad\nthing',
      stack: 'TypeError: bad\nthing\n    at train (train.ts:1:1)',
      operation: 'allReduce #7',
    };
    const run = {
      host: 'node-7',
      startedAt: start,
      oomKills: undefined,
      workers: [worker(0, { exitCode: 7 }, error)],
    };
    expect(reportOf(run)).toEqual({
      exitCode: 7,
      text: `\
ringrun: error of rank 0:
  TypeError: bad
  thing
      at train (train.ts:1:1)
  last operation: allReduce #7
ringrun: root cause: rank 0 on host node-7 (pid 100, local rank 0), 0.9 s after the start: exit code 7, TypeError: bad
`,
    });
  });

  test('has the interrupted exit of a rank, and exits with its code', () => {
    const caller = 'train (file:///job/train.js:12:3)';
    const workers = [
      worker(0, { exitCode: 1 }, { blames: { isCertain: false, ranks: [process1] } }),
      {
        ...worker(1, { signal: 'SIGTERM', sentSignal }),
        exit: exit(1, { exitCode: 3, time: start + 900, caller }),
      },
    ];
    const report = reportOf({ host: 'node-7', startedAt: start, workers, oomKills: undefined });
    expect(report.exitCode).toBe(3);
    expect(report.text.trimEnd().split('\n').at(-1)).toBe(
      'ringrun: root cause: rank 1 on host node-7 (pid 101, local rank 1), 0.9 s after the start: ' +
        `exit code 3 without an error record (process.exit was called at ${caller}) (the launcher sent SIGTERM before the process had exited)`,
    );
  });

  test('lists an outlived death and an equal error as no consequences', () => {
    const report = reportOf({
      host: 'h',
      startedAt: start,
      oomKills: 0,
      workers: [
        { ...worker(0, { signal: 'SIGKILL', endedAt: start + 10 }), isOutlived: true },
        worker(1, { exitCode: 1 }, { hostTime: start + 900 }),
        worker(2, { exitCode: 1 }, { hostTime: start + 950 }),
        terminated(3),
      ],
    });
    expect(report.text.split('\n').slice(0, 4)).toEqual([
      'ringrun: 1 of 3 other ranks ended as a consequence:',
      '  rank 0 (pid 100) was killed by SIGKILL; the job continued without it',
      '  rank 2 (pid 102) exited with code 1: Error: boom; the same error',
      '  rank 3 (pid 103) ended by SIGTERM from the launcher',
    ]);
  });

  test.each<[string, Partial<WorkerOutcome>, number | undefined, number, string]>([
    [
      'the OOM killer',
      { signal: 'SIGKILL' },
      2,
      137,
      "out of memory: the cgroup's oom_kill count increased by 2",
    ],
    [
      'SIGKILL without an oom_kill count',
      { signal: 'SIGKILL' },
      undefined,
      137,
      'or the OOM killer of the kernel',
    ],
    [
      'a crash of native code',
      { signal: 'SIGSEGV' },
      0,
      139,
      'SIGSEGV (signal 11: native code accessed invalid memory',
    ],
    ['an abort', { signal: 'SIGABRT' }, 0, 134, 'JavaScript heap out of memory'],
    ['a full /dev/shm', { signal: 'SIGBUS' }, 0, 135, '/dev/shm'],
    ['a top-level await that never settled', { exitCode: 13 }, 0, 13, 'a top-level await never settled'],
    ['an exit without an error', { exitCode: 4 }, 0, 4, 'exit code 4 without an error record'],
    [
      'a process that did not start',
      { pid: undefined, startError: 'spawn EAGAIN' },
      0,
      1,
      'could not be started: spawn EAGAIN',
    ],
  ])('explains %s', (_, outcome, oomKills, exitCode, words) => {
    const report = reportOf({ host: 'h', startedAt: start, oomKills, workers: [worker(0, outcome)] });
    expect(report.exitCode).toBe(exitCode);
    expect(report.text.trimEnd().split('\n').at(-1)).toContain(words);
  });

  test('of 256 ranks has fewer than 15 lines', () => {
    const workers = [worker(0, { exitCode: 1 }), ...Array.from({ length: 255 }, (_, i) => terminated(i + 1))];
    const report = reportOf({ host: 'h', startedAt: start, oomKills: 0, workers });
    expect(report.text).toContain('255 of 255 other ranks ended as a consequence');
    expect(report.text).toContain('and 247 more ranks');
    expect(report.text.split('\n').length).toBeLessThan(15);
  });
});

test('a report contains no escape sequences of an error record', () => {
  const message = 'lost \x1b[2Jnode7\u202e';
  const stack = `Error: ${message}\n\tat train (train.ts:1:1)`;
  const operation = 'recv from \x1b]0;title\x07';
  const failed = worker(0, { exitCode: 1 }, { message, stack, operation });
  const { text } = reportOf({ host: 'h', startedAt: start, workers: [failed], oomKills: undefined });
  expect(text).toContain('lost \\x1b[2Jnode7\\u{202e}\n      at train');
  expect(text).toContain('last operation: recv from \\x1b]0;title\\x07\n');
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
