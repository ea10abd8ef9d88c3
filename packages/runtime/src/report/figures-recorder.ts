import { registry } from '@ringrun/core';
import type { Lane } from '@ringrun/core';
import { noWork, stepBounds } from '@ringrun/launcher';
import type { Work } from '@ringrun/launcher';

/** Points of the past that `recent` covers: ten seconds, with one point a second. */
const maxPoints = 10;

/** Adds up the work of this rank. Times are in milliseconds of `performance.now()`. */
export class WorkRecorder {
  #before = noWork;
  #steps = 0;
  #samples = 0;
  /** When the clock started, and the lanes at that time; undefined between epochs. */
  #running: { since: number; lanes: Readonly<Record<Lane, number>> } | undefined;
  #lastStepAt = 0;
  #stepSeconds = 0;
  readonly #stepCounts = new Array<number>(stepBounds.length + 1).fill(0);
  /** Totals of the last seconds, the oldest first. */
  readonly #points: Work[] = [noWork];

  /** Starts the clock. */
  resume(now: number): void {
    this.#running ??= { since: now, lanes: { ...registry.activityTotals } };
    this.#lastStepAt = now;
  }

  /** Stops the clock. */
  pause(now: number): void {
    const { seconds, input, compute, waiting } = this.total(now);
    this.#before = { ...noWork, seconds, input, compute, waiting };
    this.#running = undefined;
  }

  /** Steps since the process started. */
  get steps(): number {
    return this.#steps;
  }

  step(samples: number, now: number): void {
    if (this.#running === undefined) this.resume(now);
    else this.#addStepTime((now - this.#lastStepAt) / 1000);
    this.#lastStepAt = now;
    this.#steps += 1;
    this.#samples += samples;
  }

  total(now: number): Work {
    const [steps, samples] = [this.#steps, this.#samples];
    if (this.#running === undefined) return { ...this.#before, steps, samples };
    const { since, lanes } = this.#running;
    const { activityTotals } = registry;
    const timeIn = (lane: 'input' | 'compute' | 'waiting') =>
      this.#before[lane] + Math.max(0, activityTotals[lane] - lanes[lane]) / 1000;
    return {
      seconds: this.#before.seconds + (now - since) / 1000,
      input: timeIn('input'),
      compute: timeIn('compute'),
      waiting: timeIn('waiting'),
      steps,
      samples,
    };
  }

  /** The current figures; the next ones cover the time from here. Call it once a second. */
  take(now: number): { total: Work; recent: Work; stepCounts: readonly number[]; stepSeconds: number } {
    const total = this.total(now);
    const recent = difference(total, this.#points[0]);
    this.#points.push(total);
    if (this.#points.length > maxPoints) this.#points.shift();
    return { total, recent, stepCounts: [...this.#stepCounts], stepSeconds: this.#stepSeconds };
  }

  #addStepTime(seconds: number): void {
    const bucket = stepBounds.findIndex((bound) => seconds <= bound);
    this.#stepCounts[bucket < 0 ? stepBounds.length : bucket] += 1;
    this.#stepSeconds += seconds;
  }
}

function difference(now: Work, before: Work): Work {
  return {
    seconds: now.seconds - before.seconds,
    input: now.input - before.input,
    compute: now.compute - before.compute,
    waiting: now.waiting - before.waiting,
    steps: now.steps - before.steps,
    samples: now.samples - before.samples,
  };
}
