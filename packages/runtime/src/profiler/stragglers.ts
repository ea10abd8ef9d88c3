import type { Activity } from './recorder.ts';

/**
 * Finds the rank that the others waited for. An average is complete when the last rank has contributed its
 * gradients, so in each step of DDP the rank that starts to wait last is the straggler. The waits of the
 * others get `waitedForRank` and `lateMs`, the delay of that rank in ms.
 *
 * @param ranks activities by rank, on one clock
 */
export function withStragglers(ranks: readonly (readonly Activity[])[]): Activity[][] {
  const stragglers = stragglersOf(ranks);
  return ranks.map((activities, rank) => {
    const keyOf = waitKeys();
    return activities.map((activity) => {
      const straggler = stragglers.get(keyOf(activity));
      return straggler === undefined || straggler.rank === rank ? activity : explained(activity, straggler);
    });
  });
}

interface Straggler {
  readonly rank: number;
  /** When it started to wait itself. */
  readonly since: number;
}

function explained(activity: Activity, { rank, since }: Straggler): Activity {
  const lateMs = Number((since - activity.startedAt).toFixed(3));
  return { ...activity, details: { ...activity.details, waitedForRank: rank, lateMs } };
}

/** The straggler of each wait, by its key. Waits recorded by only one rank have none. */
function stragglersOf(ranks: readonly (readonly Activity[])[]): ReadonlyMap<string | undefined, Straggler> {
  const candidates = new Map<string, Straggler[]>();
  for (const [rank, activities] of ranks.entries()) {
    const keyOf = waitKeys();
    for (const activity of activities) {
      const key = keyOf(activity);
      if (key === undefined) continue;
      candidates.set(key, [...(candidates.get(key) ?? []), { rank, since: activity.startedAt }]);
    }
  }
  const shared = [...candidates].filter(([, ranksOfWait]) => ranksOfWait.length > 1);
  return new Map(shared.map(([key, ranksOfWait]) => [key, latest(ranksOfWait)]));
}

function latest(candidates: readonly Straggler[]): Straggler {
  return candidates.reduce((last, next) => (next.since > last.since ? next : last));
}

/**
 * Returns a key for each wait of one rank that is the same on every rank: the step of DDP and the index of
 * the wait in that step, since a job may train two models. Undefined for activities other than waits for
 * gradients.
 */
function waitKeys(): (activity: Activity) => string | undefined {
  const waits = new Map<number, number>();
  return ({ lane, details }) => {
    const step = details?.['step'];
    if (lane !== 'waiting' || typeof step !== 'number') return undefined;
    const before = waits.get(step) ?? 0;
    waits.set(step, before + 1);
    return `${step}/${before}`;
  };
}
