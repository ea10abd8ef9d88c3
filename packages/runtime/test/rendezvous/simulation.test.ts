import { describe, expect, test } from 'vitest';
import { nextStep } from '../../src/rendezvous/next-step.ts';
import { runSchedule } from './simulation/schedule.ts';

/** `npm run test:rendezvous` runs 10,000 of them. */
const count = Number(process.env['RINGRUN_SCHEDULES'] ?? 1000);
const limitMs = 30_000 + 30 * count;

/** What went wrong in the schedules of these seeds; the first four are told. */
function failuresOf(seeds: number, step = nextStep): string[] {
  const failures: string[] = [];
  for (let seed = 0; seed < seeds && failures.length < 4; seed += 1) {
    try {
      runSchedule(seed, step);
    } catch (error) {
      failures.push(`seed ${seed}: ${(error as Error).message}`);
    }
  }
  return failures;
}

test(
  `${count} schedules of joins, deaths, delays and lost messages: one leader a round, no rank given twice, and an end`,
  () => {
    expect(failuresOf(count)).toEqual([]);
  },
  limitMs,
);

/** A mistake in the machine is found, so its absence means something. */
describe('finds', () => {
  test('nodes that keep their workers although they do not reach the store', () => {
    const failures = failuresOf(1000, (state, situation, clock) => {
      const step = nextStep(state, situation, clock);
      return step.kind === 'stop' && step.cutOff ? { kind: 'wait', reason: 'nothing' } : step;
    });
    expect(failures.join('\n')).toMatch(/rank \d was given to .* while .* has it/);
  });

  test('a round that begins before the workers of the last one have ended', () => {
    const failures = failuresOf(1000, (state, situation, clock) => {
      if (state?.phase !== 'ending') return nextStep(state, situation, clock);
      const participants = state.participants.map((other) => ({ ...other, report: 'stopped' as const }));
      return nextStep({ ...state, participants }, situation, clock);
    });
    expect(failures[0]).toMatch(/rank \d was given to .* while .* has it/);
  });

  test('a new store that does not wait for those that may still run', () => {
    const failures = failuresOf(2000, (state, situation, clock) =>
      nextStep(state && { ...state, roundsBegun: 1 }, situation, clock),
    );
    expect(failures[0]).toMatch(/rank \d was given to .* while .* has it/);
  });

  test('deaths that nobody notices', () => {
    const failures = failuresOf(1000, (state, situation, clock) =>
      nextStep(state, { ...situation, silent: new Set() }, clock),
    );
    expect(failures[0]).toMatch(/the job has not ended/);
  });
});
