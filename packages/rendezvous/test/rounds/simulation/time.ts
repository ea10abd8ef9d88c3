import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../../src/clock.ts';
import { Agenda } from './agenda.ts';
import { Random } from './random.ts';

/** Time and chance of one schedule. Promises settle between two events of the agenda. */
export class SimulatedTime {
  readonly agenda = new Agenda();
  readonly random: Random;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  get now(): number {
    return this.agenda.now;
  }

  /** Runs events until `isOver` or the end of the time. Rejects with the first error of `check`. */
  async run(endMs: number, isOver: () => boolean): Promise<void> {
    while (!isOver() && this.agenda.runNext(endMs)) await setImmediate();
  }

  /** Calls `act` after so many milliseconds, half to one and a half times of it. */
  about(ms: number, act: () => void): void {
    this.agenda.after(this.random.between(0.5 * ms, 1.5 * ms), act);
  }
}

/** The clock of a process: its callbacks come only while it runs. */
export function clockOf(time: SimulatedTime, runs: () => boolean): Clock {
  return {
    now: () => time.now,
    wall: () => time.now,
    delay: (ms, signal) =>
      new Promise((resolve, reject) => {
        const onAbort = () => {
          reject(signal!.reason as Error);
        };
        signal?.addEventListener('abort', onAbort);
        time.agenda.after(ms, () => {
          signal?.removeEventListener('abort', onAbort);
          if (runs()) resolve();
        });
      }),
    after: (ms, act) => {
      let isOver = false;
      time.agenda.after(ms, () => {
        if (!isOver && runs()) act();
      });
      return () => {
        isOver = true;
      };
    },
    every: (ms, act) => {
      let isOver = false;
      const again = () => {
        time.agenda.after(ms, () => {
          if (isOver || !runs()) return;
          act();
          again();
        });
      };
      again();
      return () => {
        isOver = true;
      };
    },
  };
}
