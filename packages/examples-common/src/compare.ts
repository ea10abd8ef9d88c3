import { barrier, defaultGroup, getRank, newGroup } from 'ringrun';
import { train, type Outcome } from './train.ts';
import type { Task } from './task.ts';

/** Time limit for training on rank 0 alone, while the other ranks wait at a barrier. */
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Trains on rank 0 alone, then on all ranks for the same epochs. Rank 0 prints steps, time and accuracy of both
 * side by side.
 */
export async function compare(task: Task): Promise<void> {
  const single = await newGroup([0]);
  const patient = await newGroup(undefined, { timeoutMs: dayMs });
  const alone = single && (await train(task, single));
  await barrier({ group: patient! });
  const together = await train(task, defaultGroup());
  if (alone && getRank() === 0) console.log(`\n${sideBySide([alone, together])}`);
}

/** A table with one column per outcome. */
export function sideBySide(outcomes: readonly [alone: Outcome, ...others: Outcome[]]): string {
  const [alone] = outcomes;
  const rows: [string, (outcome: Outcome) => string][] = [
    ['', ({ ranks }) => (ranks === 1 ? '1 rank' : `${ranks} ranks`)],
    ['steps per rank', ({ steps }) => String(steps)],
    ['seconds of training', ({ seconds }) => seconds.toFixed(2)],
    ['images/s', ({ imagesPerSecond }) => imagesPerSecond.toFixed(0)],
    ['times as fast', ({ seconds }) => (alone.seconds / seconds).toFixed(2)],
    ['accuracy', ({ accuracy }) => accuracy.toFixed(4)],
    ['loss', ({ loss }) => loss.toFixed(4)],
  ];
  return rows
    .map(([name, cell]) =>
      [name.padEnd(20), ...outcomes.map((outcome) => cell(outcome).padStart(12))].join(''),
    )
    .join('\n');
}
