import type { Activity } from './recorder.ts';

/**
 * Who waited for whom. Ranks wait for the same averages, which come when the last rank has given its gradients: in each step of DDP, the rank that begins
 * to wait last is the one for which the others do. Their waits get `waitedForRank` and `lateMs`, how much later than they it came.
 *
 * @param ranks what each rank has done, by rank, on one clock
 */
export function withStragglers(ranks: readonly (readonly Activity[])[]): Activity[][] {
  const stragglers = stragglersOf(ranks);
  return ranks.map((activities, rank) => {
    const keyOf = namesOfWaits();
    return activities.map((activity) => {
      const straggler = stragglers.get(keyOf(activity));
      return straggler === undefined || straggler.rank === rank ? activity : explained(activity, straggler);
    });
  });
}

interface Straggler {
  readonly rank: number;
  /** When it began to wait itself. */
  readonly since: number;
}

function explained(activity: Activity, { rank, since }: Straggler): Activity {
  const lateMs = Number((since - activity.startedAt).toFixed(3));
  return { ...activity, details: { ...activity.details, waitedForRank: rank, lateMs } };
}

/** By the name of the wait; where only one rank has recorded it, it was for nobody that is known. */
function stragglersOf(ranks: readonly (readonly Activity[])[]): ReadonlyMap<string | undefined, Straggler> {
  const candidates = new Map<string, Straggler[]>();
  for (const [rank, activities] of ranks.entries()) {
    const keyOf = namesOfWaits();
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
 * Gives each wait of one rank the name that it has on every rank: the step of DDP, and the how manieth wait of that step, since a job may train two models. Undefined for
 * what is no wait for gradients.
 */
function namesOfWaits(): (activity: Activity) => string | undefined {
  const waits = new Map<number, number>();
  return ({ lane, details }) => {
    const step = details?.['step'];
    if (lane !== 'waiting' || typeof step !== 'number') return undefined;
    const before = waits.get(step) ?? 0;
    waits.set(step, before + 1);
    return `${step}/${before}`;
  };
}
