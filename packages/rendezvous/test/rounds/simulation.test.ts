import { describe, expect, test } from 'vitest';
import { nextStep } from '../../src/rounds/next-step.ts';
import { runSchedule } from './simulation/schedule.ts';

/** `npm run test:rendezvous` runs 10,000 of them. */
const count = Number(process.env['RINGRUN_SCHEDULES'] ?? 150);
const limitMs = 60_000 + 60 * count;

/**
 * The error of the first schedule, from seed `from` on, whose message matches `isMeant`; undefined if none does.
 */
function firstFailure(seeds: number, isMeant: RegExp, step = nextStep, from = 0): string | undefined {
  for (let seed = from; seed < from + seeds; seed += 1) {
    try {
      runSchedule(seed, step);
    } catch (error) {
      const message = `seed ${seed}: ${(error as Error).message}`;
      if (isMeant.test(message)) return message;
    }
  }
  return undefined;
}

test(
  `${count} schedules of failures: one leader per round, unique ranks, and every job ends`,
  () => {
    expect(firstFailure(count, /.*/)).toBeUndefined();
  },
  limitMs,
);

/** Each test breaks one rule of the rendezvous, and the simulation must detect it. */
describe('finds', () => {
  const twice = /rank \d was given to .* while .* has it/;

  test('nodes that keep their workers without contact to the store', () => {
    const failure = firstFailure(2000, twice, (state, nodeState, clock) => {
      const step = nextStep(state, nodeState, clock);
      return step.kind === 'stop' && step.because === 'cut off' ? { kind: 'wait', reason: 'nothing' } : step;
    });
    expect(failure).toBeDefined();
  });

  test('a round that starts before the workers of the last one have ended', () => {
    const failure = firstFailure(2000, twice, (state, nodeState, clock) => {
      if (state?.phase !== 'ending') return nextStep(state, nodeState, clock);
      const participants = state.participants.map((other) => ({ ...other, report: 'stopped' as const }));
      return nextStep({ ...state, participants }, nodeState, clock);
    });
    expect(failure).toBeDefined();
  });

  test('a new store that does not wait for nodes that may still run', () => {
    const step: typeof nextStep = (state, nodeState, clock) =>
      nextStep(state && { ...state, roundsBegun: 1 }, nodeState, clock);
    // Rare: the first such schedule has seed 448.
    const failure = firstFailure(2000, twice, step, 400);
    expect(failure).toBeDefined();
  });

  test('deaths that are not detected', () => {
    const failure = firstFailure(2000, /the job has not ended/, (state, nodeState, clock) =>
      nextStep(state, { ...nodeState, silent: new Set() }, clock),
    );
    expect(failure).toBeDefined();
  });
});
