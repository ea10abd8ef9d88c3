import { describe, expect, test } from 'vitest';
import type { ErrorRecord } from '../../src/worker/error-record.ts';
import { findRootCause, reportFailure } from '../../src/job/failure-report.ts';
import type { WorkerRecord } from '../../src/job/failure-report.ts';
import type { WorkerOutcome } from '../../src/job/worker.ts';

const start = 1_000_000;
const sentSignal = { signal: 'SIGTERM', at: start + 1000 } as const;

function worker(rank: number, outcome: Partial<WorkerOutcome>, error?: Partial<ErrorRecord>): WorkerRecord {
  return {
    outcome: {
      rank,
      localRank: rank,
      pid: 100 + rank,
      exitCode: null,
      signal: null,
      startError: undefined,
      sentSignal: undefined,
      forced: false,
      endedAt: start + 1000,
      ...outcome,
    },
    error: error && {
      message: 'boom',
      stack: 'Error: boom\n    at train (train.ts:1:1)',
      host: 'node-7',
      pid: 100 + rank,
      time: start + 900,
      ...error,
    },
  };
}

const finished = (rank: number) => worker(rank, { exitCode: 0 });
const terminated = (rank: number) => worker(rank, { signal: 'SIGTERM', sentSignal });
const lostPeer = (rank: number, time: number) =>
  worker(
    rank,
    { exitCode: 1, endedAt: time + 50 },
    {
      code: 'ERR_PEER_DIED',
      time,
      message: 'rank 2 died',
      stack: 'PeerDiedError: rank 2 died\n    at x',
      operation: 'allReduce #41 (float32, 10 elements, SUM)',
    },
  );

describe('the root cause is', () => {
  test.each<[string, WorkerRecord[], number | undefined]>([
    ['no rank, if all succeeded', [finished(0), finished(1)], undefined],
    [
      'no rank, if all ended by the signal of the launcher',
      [terminated(0), worker(1, { exitCode: 143, sentSignal })],
      undefined,
    ],
    ['the only failure', [terminated(0), worker(1, { exitCode: 3 })], 1],
    [
      'the earliest exit',
      [worker(0, { exitCode: 1, endedAt: start + 20 }), worker(1, { exitCode: 1, endedAt: start + 10 })],
      1,
    ],
    [
      'the earliest error, although its process ended last',
      [
        worker(0, { exitCode: 1, endedAt: start + 500 }, { time: start + 400 }),
        worker(1, { exitCode: 1, endedAt: start + 900 }, { time: start + 300 }),
      ],
      1,
    ],
    [
      'a death by signal, although ranks that lost the peer ended first',
      [
        lostPeer(0, start + 100),
        lostPeer(1, start + 110),
        worker(2, { signal: 'SIGKILL', endedAt: start + 700 }),
      ],
      2,
    ],
    [
      'a death by signal that the launcher detected after it had stopped all workers',
      [lostPeer(0, start + 900), worker(1, { signal: 'SIGSEGV', sentSignal, endedAt: start + 1001 })],
      1,
    ],
    [
      'an error, although ranks that lost the peer have earlier clocks',
      [lostPeer(0, start + 100), worker(1, { exitCode: 1 }, { time: start + 150 })],
      1,
    ],
    [
      'the first rank that lost a peer, if the peer succeeded',
      [lostPeer(0, start + 120), lostPeer(1, start + 110), finished(2)],
      1,
    ],
    [
      'an error, although the launcher ended its process after a rank had noticed',
      [
        lostPeer(0, start + 920),
        worker(1, { signal: 'SIGTERM', sentSignal }, { time: start + 910 }),
        terminated(2),
      ],
      1,
    ],
    [
      'not an error that a worker survived, if another worker failed by itself',
      [worker(0, { exitCode: 1 }), worker(1, { signal: 'SIGTERM', sentSignal }, { time: start + 10 })],
      0,
    ],
    [
      'not an error after the signal of the launcher',
      [lostPeer(0, start + 920), worker(1, { signal: 'SIGTERM', sentSignal }, { time: start + 1010 })],
      0,
    ],
    [
      'not a worker that failed while it was stopped',
      [
        worker(0, { exitCode: 1, sentSignal, endedAt: start + 1200 }, { time: start + 1100 }),
        worker(1, { exitCode: 9, endedAt: start + 1300 }),
      ],
      1,
    ],
    [
      'not a worker that the launcher killed',
      [
        worker(0, { signal: 'SIGKILL', sentSignal, forced: true, endedAt: start + 10 }),
        worker(1, { exitCode: 5, endedAt: start + 20 }),
      ],
      1,
    ],
    [
      'a worker that could not be started',
      [terminated(0), worker(1, { pid: undefined, startError: 'spawn EAGAIN' })],
      1,
    ],
  ])('%s', (_, workers, expected) => {
    expect(findRootCause(workers)?.outcome.rank).toBe(expected);
  });
});

describe('the report', () => {
  test('has the error of a process that the launcher ended while it exited', () => {
    const workers = [
      lostPeer(0, start + 920),
      worker(1, { signal: 'SIGTERM', sentSignal }, { time: start + 910 }),
    ];
    const report = reportFailure({ host: 'node-7', startedAt: start, workers, oomKills: undefined });
    expect(report?.exitCode).toBe(1);
    expect(report?.text.trimEnd().split('\n').at(-1)).toBe(
      'ringrun: root cause: rank 1 on host node-7 (pid 101, local rank 1), 0.9 s after the start: ' +
        'Error: boom (the launcher sent SIGTERM before the process had exited)',
    );
  });

  test('ends with the root cause, after the other ranks', () => {
    const report = reportFailure({
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
    expect(reportFailure(run)).toEqual({
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
    const report = reportFailure({ host: 'h', startedAt: start, oomKills, workers: [worker(0, outcome)] });
    expect(report?.exitCode).toBe(exitCode);
    expect(report?.text.trimEnd().split('\n').at(-1)).toContain(words);
  });

  test('of 256 ranks has fewer than 15 lines', () => {
    const workers = [worker(0, { exitCode: 1 }), ...Array.from({ length: 255 }, (_, i) => terminated(i + 1))];
    const report = reportFailure({ host: 'h', startedAt: start, oomKills: 0, workers });
    expect(report?.text).toContain('255 of 255 other ranks ended as a consequence');
    expect(report?.text).toContain('and 247 more ranks');
    expect(report?.text.split('\n').length).toBeLessThan(15);
  });
});

test('a report contains no escape sequences of an error record', () => {
  const message = 'lost \x1b[2Jnode7\u202e';
  const stack = `Error: ${message}\n\tat train (train.ts:1:1)`;
  const operation = 'recv from \x1b]0;title\x07';
  const failed = worker(0, { exitCode: 1 }, { message, stack, operation });
  const { text } = reportFailure({ host: 'h', startedAt: start, workers: [failed], oomKills: undefined })!;
  expect(text).toContain('lost \\x1b[2Jnode7\\u{202e}\n      at train');
  expect(text).toContain('last operation: recv from \\x1b]0;title\\x07\n');
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
