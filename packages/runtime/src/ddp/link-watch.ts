import { followsMeasuredLinks, groupLinks, measureGroupLinks } from '@ringrun/collectives';
import { ReduceOp } from '@ringrun/core';
import type { Links, ProcessGroup } from '@ringrun/core';

/** Steps between two comparisons. */
const stepsOfWindow = 20;

/** A wait that has grown less, as a factor and in milliseconds of a window, is not worth a measurement of about a second. */
const leastGrowth = 1.5;
const leastLostMs = 500;

/** Bandwidth before, divided by that of now, from which a link is named. */
const leastSlowdown = 1.5;

/** Whether a step waits so much longer for gradients than before that a link may have become slow. */
export function hasSlowed(usualMs: number, waitMs: number): boolean {
  return waitMs >= leastGrowth * usualMs && (waitMs - usualMs) * stepsOfWindow >= leastLostMs;
}

/**
 * Measures the links of a group again when steps wait longer for their gradients than before, so that rings go around a
 * link that became slow. Only for groups that follow measured links: other reductions keep their order of additions.
 */
export class LinkWatch {
  readonly #warn: (line: string) => void;
  #group: ProcessGroup | undefined;
  #waitedMs = 0;
  /** The least of any window since the last measurement. */
  #usualMs: number | undefined;

  /** @param warn prints a line on rank 0 of the group, passed without its newline */
  constructor(warn: (line: string) => void) {
    this.#warn = warn;
  }

  /** Whether `check` runs after a step, from 1. The same on all ranks. */
  isDue(step: number, group: ProcessGroup): boolean {
    return step % stepsOfWindow === 0 && followsMeasuredLinks(group) && groupLinks(group)!.hosts.length > 1;
  }

  /**
   * Compares the wait of the last window with earlier ones. A collective.
   *
   * @param waitedMs what this rank has waited for gradients in all steps
   */
  async check(group: ProcessGroup, waitedMs: number): Promise<void> {
    // Every rank waits for a slow link, but a slow rank does not wait for itself.
    const least = Float32Array.of((waitedMs - this.#waitedMs) / stepsOfWindow);
    await group.allReduce(least, { op: ReduceOp.MIN });
    this.#waitedMs = waitedMs;
    const usualMs = this.#usualMs;
    if (group !== this.#group) {
      // The first steps of a group open connections, and may have waited for its ranks.
      this.#group = group;
      this.#usualMs = undefined;
      return;
    }
    const [waitMs] = least;
    this.#usualMs = Math.min(usualMs ?? Infinity, waitMs);
    if (usualMs === undefined || !hasSlowed(usualMs, waitMs)) return;
    this.#usualMs = undefined;
    const before = groupLinks(group);
    const now = await measureGroupLinks(group, { use: true });
    if (before === undefined || group.rank > 0) return;
    this.#warn(
      `ringrun: a step waited ${Math.round(waitMs)} ms for its gradients, before ${Math.round(usualMs)} ms. ` +
        `Measured the links between hosts again: ${slowestText(before, now)}`,
    );
  }
}

/** The link that has lost most of its bandwidth. */
export function slowestText(before: Links, now: Links): string {
  let slowdown = leastSlowdown;
  let text = 'none has become much slower. Look at the processes and disks of all hosts.';
  for (const [a, row] of now.bandwidth.entries())
    for (const [b, rate] of row.entries()) {
      const was = before.bandwidth[a][b];
      if (rate <= 0 || was / rate <= slowdown) continue;
      slowdown = was / rate;
      text = `${now.hosts[a]} → ${now.hosts[b]} has ${mb(rate)}, before ${mb(was)}. Rings go around it where they can.`;
    }
  return text;
}

const mb = (bytesPerSecond: number): string => `${Number((bytesPerSecond / 1e6).toPrecision(3))} MB/s`;
