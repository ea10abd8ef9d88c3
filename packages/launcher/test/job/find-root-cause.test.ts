import { describe, expect, test } from 'vitest';
import { findRootCause } from '../../src/job/find-root-cause.ts';
import type { WorkerRecord } from '../../src/job/find-root-cause.ts';
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
        worker(0, { exitCode: 1, endedAt: start + 500 }, { hostTime: start + 400 }),
        worker(1, { exitCode: 1, endedAt: start + 900 }, { hostTime: start + 300 }),
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
      [lostPeer(0, start + 100), worker(1, { exitCode: 1 }, { hostTime: start + 150 })],
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
        worker(1, { signal: 'SIGTERM', sentSignal }, { hostTime: start + 910 }),
        terminated(2),
      ],
      1,
    ],
    [
      'not an error that a worker survived, if another worker failed by itself',
      [worker(0, { exitCode: 1 }), worker(1, { signal: 'SIGTERM', sentSignal }, { hostTime: start + 10 })],
      0,
    ],
    [
      'not an error after the signal of the launcher',
      [lostPeer(0, start + 920), worker(1, { signal: 'SIGTERM', sentSignal }, { hostTime: start + 1010 })],
      0,
    ],
    [
      'not a worker that failed while it was stopped',
      [
        worker(0, { exitCode: 1, sentSignal, endedAt: start + 1200 }, { hostTime: start + 1100 }),
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
      'a rank that left with exit code 0, if the others failed after it',
      [
        lostPeer(0, start + 100),
        { ...worker(1, { exitCode: 0, endedAt: start + 300 }), exit: exit(1, { wasRank: true }) },
      ],
      1,
    ],
    [
      'no rank, if one left with exit code 0 and the others finished',
      [finished(0), { ...finished(1), exit: exit(1, { wasRank: true }) }],
      undefined,
    ],
    [
      'a rank that finished before it joined, if the others waited for it',
      [
        worker(0, { exitCode: 1 }, { blames: { isCertain: false, ranks: [{ rank: 1 }] } }),
        finished(1),
        finished(2),
      ],
      1,
    ],
    [
      'an error of the program, although a rank had left with exit code 0',
      [worker(0, { exitCode: 1 }, {}), { ...finished(1), exit: exit(1, { wasRank: true }) }],
      0,
    ],
    [
      'a death, although a rank that caught the loss of its peer exited first',
      [
        {
          ...worker(0, { exitCode: 1, endedAt: start + 10 }),
          exit: exit(0, { failure: lostPeer(0, start + 10).error! }),
        },
        worker(1, { signal: 'SIGKILL', endedAt: start + 20 }),
      ],
      1,
    ],
    [
      'a death, although another rank had timed out before',
      [
        worker(0, { exitCode: 1 }, { hostTime: start + 10, blames: { isCertain: false, ranks: [process1] } }),
        worker(1, { signal: 'SIGABRT', endedAt: start + 900 }),
      ],
      1,
    ],
    [
      'a timeout, if the missing rank was only stuck',
      [worker(0, { exitCode: 1 }, { blames: { isCertain: false, ranks: [process1] } }), terminated(1)],
      0,
    ],
    [
      'a later error of the others, although the job outlived a death before',
      [
        { ...worker(1, { signal: 'SIGKILL', endedAt: start + 10 }), isOutlived: true },
        { ...worker(0, { exitCode: 1 }, { hostTime: start + 950 }), isOutlived: true },
        worker(2, { exitCode: 1 }, { hostTime: start + 960 }),
      ],
      2,
    ],
    [
      'the last outlived death, after which the job could not continue',
      [
        { ...worker(1, { signal: 'SIGKILL', endedAt: start + 10 }), isOutlived: true },
        { ...worker(2, { signal: 'SIGSEGV', endedAt: start + 50 }), isOutlived: true },
        worker(0, { exitCode: 1 }, { code: 'ERR_RECOVERY_FAILED', blames: { isCertain: true, ranks: [] } }),
      ],
      2,
    ],
    [
      'an outlived failure that another failure names',
      [
        { ...worker(1, { exitCode: 1, endedAt: start + 10 }), isOutlived: true },
        { ...worker(2, { signal: 'SIGSEGV', endedAt: start + 50 }), isOutlived: true },
        worker(0, { exitCode: 1 }, { blames: { isCertain: false, ranks: [process1] } }),
      ],
      1,
    ],
    [
      'an exit that the launcher interrupted',
      [
        worker(0, { exitCode: 1 }, { blames: { isCertain: false, ranks: [process1] } }),
        {
          ...worker(1, { signal: 'SIGTERM', sentSignal }),
          exit: exit(1, { exitCode: 3, time: start + 900 }),
        },
      ],
      1,
    ],
    [
      'a worker that could not be started',
      [terminated(0), worker(1, { pid: undefined, startError: 'spawn EAGAIN' })],
      1,
    ],
  ])('%s', (_, workers, expected) => {
    expect(findRootCause(workers)?.worker.outcome.rank).toBe(expected);
  });
});
