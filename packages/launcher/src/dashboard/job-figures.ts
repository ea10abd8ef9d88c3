import type { JobEvent } from '@ringrun/rendezvous/rounds';
import type { RankFigures } from '../worker/rank-figures.ts';

/** Figures of a rank, and the seconds since it published them. */
export interface AgedFigures extends RankFigures {
  readonly age: number;
}

/** All that is known about a job at one time. */
export interface JobFigures {
  readonly runId: string;
  /** Name of the job, for its title. Undefined if it has none. */
  readonly name?: string | undefined;
  /** Restarts of all workers so far. */
  readonly restartCount: number;
  readonly worldSize: number;
  /** By rank. A rank that has published nothing yet is missing. */
  readonly ranks: readonly AgedFigures[];
  /** Failures and restarts, the oldest first. */
  readonly events: readonly JobEvent[];
}

/** A time on two clocks, in milliseconds. */
export interface Time {
  /** Monotonic. */
  readonly now: number;
  /** Since the epoch. */
  readonly wall: number;
}

/** The current time. `now` is `performance.now()`. */
export function currentTime(): Time {
  return { now: performance.now(), wall: Date.now() };
}

/**
 * The ages of figures that are read again and again. Only the first age of a rank compares wall clocks, which may differ
 * between hosts and may be changed: later, the age is the time since this process first read the same figures.
 */
export class FigureAges {
  readonly #seen = new Map<string, { writtenAt: number; at: number; age: number }>();

  withAge(figures: RankFigures, { now, wall }: Time): AgedFigures {
    const { runId, restartCount, rank, writtenAt } = figures;
    const key = JSON.stringify([runId, restartCount, rank]);
    let seen = this.#seen.get(key);
    if (seen?.writtenAt !== writtenAt) {
      const age = seen === undefined ? Math.max(0, wall - writtenAt) / 1000 : 0;
      seen = { writtenAt, at: now, age };
      this.#seen.set(key, seen);
    }
    return { ...figures, age: seen.age + (now - seen.at) / 1000 };
  }
}

/**
 * The job of the newest figures. A log directory may contain figures of other runs, of earlier attempts and of several
 * nodes: the last attempt of the run with the newest figures is used.
 *
 * @param events The lists of events that were found, such as one of each node.
 * @param aged Returns figures with their age.
 */
export function newestJob(
  figures: readonly RankFigures[],
  events: readonly (readonly JobEvent[])[],
  aged: (figures: RankFigures) => AgedFigures,
): JobFigures | undefined {
  const newestFirst = figures.toSorted((a, b) => b.writtenAt - a.writtenAt);
  const runId = newestFirst.at(0)?.runId;
  // Not the newest figures: the clock may have been set back since an earlier attempt.
  const lastFirst = newestFirst
    .filter((one) => one.runId === runId)
    .sort((a, b) => b.restartCount - a.restartCount);
  const last = lastFirst.at(0);
  if (runId === undefined || last === undefined) return undefined;
  const { name, restartCount, worldSize } = last;
  const ranks = new Map<number, AgedFigures>();
  for (const one of lastFirst) {
    const isOfAttempt = one.restartCount === restartCount && one.rank < worldSize;
    if (isOfAttempt && !ranks.has(one.rank)) ranks.set(one.rank, aged(one));
  }
  return { runId, name, restartCount, worldSize, ranks: byRank(ranks.values()), events: onceEach(events) };
}

export function byRank(figures: Iterable<AgedFigures>): AgedFigures[] {
  return [...figures].sort((a, b) => a.rank - b.rank);
}

/**
 * Every node writes the events of the job, in their order, and a node that joined late has the last ones. Events of one
 * list are not sorted by time: the clock may have been set back between two of them.
 */
function onceEach(lists: readonly (readonly JobEvent[])[]): JobEvent[] {
  const byKey = new Map<string, JobEvent>();
  const longestFirst = lists.toSorted((a, b) => b.length - a.length);
  const additions = longestFirst.map((list) =>
    list.filter((event) => {
      const key = `${event.at} ${event.what}`;
      return !byKey.has(key) && byKey.set(key, event);
    }),
  );
  return additions
    .filter(({ length }) => length > 0)
    .sort((a, b) => a[0].at - b[0].at)
    .flat();
}
