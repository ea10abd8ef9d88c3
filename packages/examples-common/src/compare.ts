import type { TrainableModule } from '@ringrun/train';
import { barrier, defaultGroup, getRank, newGroup } from 'ringrun';
import { rankCount } from './callbacks.ts';
import type { Task } from './task.ts';
import { train, type Outcome } from './train.ts';

/** Time limit for training on rank 0 alone, while the other ranks wait at a barrier. */
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Trains on rank 0 alone, then on all ranks for the same epochs. Rank 0 prints steps, time and values of both side by
 * side. Returns the outcome on all ranks.
 */
export async function compare<Model extends TrainableModule, Sample, Batch>(
  task: Task<Model, Sample, Batch>,
): Promise<Outcome<Model>> {
  const single = await newGroup([0]);
  const patient = await newGroup(undefined, { timeoutMs: dayMs });
  const alone = single && (await train(task, single));
  await barrier({ group: patient! });
  const together = await train(task, defaultGroup());
  if (alone && getRank() === 0) console.log(`\n${sideBySide([alone, together])}`);
  return together;
}

/** A table with one column per outcome. */
function sideBySide(outcomes: readonly [alone: Outcome, ...others: Outcome[]]): string {
  const [alone] = outcomes;
  const rows: [string, (outcome: Outcome) => string][] = [
    ['', ({ ranks }) => rankCount(ranks)],
    ['steps per rank', ({ steps }) => String(steps)],
    ['seconds of training', ({ seconds }) => seconds.toFixed(2)],
    [`${alone.unit}/s`, ({ perSecond }) => perSecond.toFixed(0)],
    ['times as fast', ({ seconds }) => (alone.seconds / seconds).toFixed(2)],
    ...Object.keys(alone.values).map((name): [string, (outcome: Outcome) => string] => [
      name,
      ({ values }) => values[name].toFixed(4),
    ]),
  ];
  return rows
    .map(([name, cell]) =>
      [name.padEnd(20), ...outcomes.map((outcome) => cell(outcome).padStart(12))].join(''),
    )
    .join('\n');
}
