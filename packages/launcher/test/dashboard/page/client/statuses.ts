import { viewOf } from '../../../../src/dashboard/job-view.ts';
import { FigureAges, newestJob } from '../../../../src/dashboard/job-figures.ts';
import type { Point } from '../../../../src/dashboard/curve.ts';
import { formatStatus } from '../../../../src/dashboard/status.ts';
import type { Status } from '../../../../src/dashboard/status.ts';
import type { RankFigures } from '../../../../src/worker/rank-figures.ts';
import { figuresOf } from '../../figures.ts';

/** What the page receives: the JSON of these ranks' status, parsed. */
export function receivedStatus(
  ranks: readonly RankFigures[] = [figuresOf(0), figuresOf(1)],
  { now = 1_001_000, curve = [] }: { now?: number; curve?: readonly Point[] } = {},
): Status {
  return JSON.parse(
    formatStatus(
      viewOf(newestJob(ranks, [], (one) => new FigureAges().withAge(one, { now: 0, wall: now }))!),
      curve,
    ),
  ) as Status;
}
