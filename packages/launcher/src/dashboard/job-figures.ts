import type { JobEvent } from '@ringrun/rendezvous/rounds';
import type { RankFigures } from '../worker/rank-figures.ts';

/** Figures of a rank, and the seconds since it published them. */
export interface AgedFigures extends RankFigures {
  readonly age: number;
}

/** All that is known about a job at one time. */
export interface JobFigures {
  readonly runId: string;
  /** Restarts of all workers so far. */
  readonly restartCount: number;
  readonly worldSize: number;
  /** By rank. A rank that has published nothing yet is missing. */
  readonly ranks: readonly AgedFigures[];
  /** Failures and restarts, the oldest first. */
  readonly events: readonly JobEvent[];
}

/** @param now Milliseconds since the epoch. */
export function withAge(figures: RankFigures, now: number): AgedFigures {
  return { ...figures, age: Math.max(0, now - figures.writtenAt) / 1000 };
}

/**
 * The job of the newest figures. A log directory may contain figures of other runs, of earlier attempts and of several
 * nodes: the newest figures of each rank are used.
 */
export function newestJob(
  figures: readonly RankFigures[],
  events: readonly JobEvent[],
  now: number,
): JobFigures | undefined {
  const newestFirst = figures.toSorted((a, b) => b.writtenAt - a.writtenAt);
  const newest = newestFirst.at(0);
  if (newest === undefined) return undefined;
  const { runId, restartCount, worldSize } = newest;
  const ranks = new Map<number, AgedFigures>();
  for (const one of newestFirst) {
    const isOfJob = one.runId === runId && one.restartCount === restartCount && one.rank < worldSize;
    if (isOfJob && !ranks.has(one.rank)) ranks.set(one.rank, withAge(one, now));
  }
  return { runId, restartCount, worldSize, ranks: byRank(ranks.values()), events: onceEach(events) };
}

export function byRank(figures: Iterable<AgedFigures>): AgedFigures[] {
  return [...figures].sort((a, b) => a.rank - b.rank);
}

/** Every node writes the events of the job. */
function onceEach(events: readonly JobEvent[]): JobEvent[] {
  const byText = new Map(events.map((event) => [`${event.at} ${event.what}`, event]));
  return [...byText.values()].sort((a, b) => a.at - b.at);
}
