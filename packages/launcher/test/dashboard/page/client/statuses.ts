import { viewOf } from '../../../../src/dashboard/job-view.ts';
import { FigureAges, newestJob } from '../../../../src/dashboard/job-figures.ts';
import { formatStatus } from '../../../../src/dashboard/status.ts';
import type { Curves, Status } from '../../../../src/dashboard/status.ts';
import type { RankFigures } from '../../../../src/worker/rank-figures.ts';
import { figuresOf } from '../../figures.ts';

const noJob = { runId: 'job', restartCount: 0, worldSize: 0, ranks: [], events: [] };

/** What the page receives: the JSON of these ranks' status, parsed. */
export function receivedStatus(
  ranks: readonly RankFigures[] = [figuresOf(0), figuresOf(1)],
  { now = 1_001_000, ...curves }: { now?: number } & Partial<Curves> = {},
): Status {
  return JSON.parse(
    formatStatus(
      viewOf(newestJob(ranks, [], (one) => new FigureAges().withAge(one, { now: 0, wall: now })) ?? noJob),
      { curve: [], scalars: [], hiddenScalars: 0, ...curves },
    ),
  ) as Status;
}
