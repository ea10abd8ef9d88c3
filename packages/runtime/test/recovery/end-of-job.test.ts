import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Survival } from '../../../launcher/src/job/survival.ts';
import { SimulatedJob } from './simulation/job.ts';
import type { JobSettings } from './simulation/job.ts';
import type { SimulatedTime } from '../../../rendezvous/test/rounds/simulation/time.ts';

/** `npm run test:faults` runs 10,000 of them. */
const count = Number(process.env['RINGRUN_SCHEDULES'] ?? 100);

beforeEach(() => {
  // Recoveries print who died and joined.
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});

function settingsOf({ random }: SimulatedTime): JobSettings {
  const oneOf = <Item>(...items: Item[]) => items[random.integer(0, items.length - 1)];
  const size = random.integer(2, 4);
  const survivor = random.chance(0.8) ? random.integer(0, size - 1) : undefined;
  return {
    size,
    steps: oneOf(1, 3, 10, 30),
    maxRestarts: oneOf(0, 1, 5),
    issuesAtOnce: random.chance(0.5),
    replacementMs: oneOf(10, 100, 4000),
    stepMs: oneOf(2, 20, 200),
    resultMs: oneOf(2, 50, 3000, 60_000),
    timeoutMs: 10_000,
    survivor,
    deathRate: oneOf(0.02, 0.1, 0.4),
    // If all ranks are stuck, none is left to detect it.
    stuckRate: survivor === undefined ? 0 : oneOf(0, 0.2, 1),
  };
}

/** The error of the first schedule that fails; undefined if none does. */
async function firstFailure(
  schedules: number,
  { survival = Survival, isMeant = /./ }: { survival?: typeof Survival; isMeant?: RegExp } = {},
): Promise<string | undefined> {
  const first = Number(process.env['RINGRUN_FAULTS_SEED'] ?? 0);
  for (let seed = first; seed < first + schedules; seed += 1) {
    try {
      await new SimulatedJob(seed, settingsOf, survival).run();
    } catch (error) {
      const message = `seed ${seed}: ${(error as Error).message}`;
      if (isMeant.test(message)) return message;
    }
  }
  return undefined;
}

test(
  `${count} schedules of deaths and joins: every job ends once, and a surviving rank has its result`,
  { timeout: 60_000 + 60 * count },
  async () => {
    expect(await firstFailure(count)).toBeUndefined();
  },
);

/** Each test breaks one rule of the launcher, and the simulation must detect it. */
describe('finds', () => {
  test('a launcher that lets the job fail for a replacement that came too late', async () => {
    class Strict extends Survival {
      override async onLoss(...args: Parameters<Survival['onLoss']>) {
        const loss = await super.onLoss(...args);
        return loss.kind === 'unneeded' ? ({ kind: 'fatal' } as const) : loss;
      }
    }
    expect(await firstFailure(2000, { survival: Strict, isMeant: /the job has failed/ })).toBeDefined();
  });

  test('a launcher that does not end removed ranks', async () => {
    class Patient extends Survival {
      override watchRemovals(): void {
        // Never.
      }
    }
    expect(await firstFailure(2000, { survival: Patient, isMeant: /has not ended/ })).toBeDefined();
  });
});
