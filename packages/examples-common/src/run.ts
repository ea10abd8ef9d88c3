import type { TrainableModule } from '@ringrun/train';
import { defaultGroup, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';
import { compare } from './compare.ts';
import type { SharedSettings } from './shared-options.ts';
import type { Task } from './task.ts';
import { train } from './train.ts';

/**
 * Runs an example: initializes the process group, prepares the data, trains, and destroys the group.
 * `prepare` is called on every rank, after the group is initialized.
 *
 * @param settings `compare`: train on one rank first, then on all ranks. Default: false
 */
export async function run<Model extends TrainableModule, Sample, Batch>(
  settings: Pick<SharedSettings, 'backend'> & { readonly compare?: boolean },
  prepare: () => Promise<Task<Model, Sample, Batch>>,
): Promise<void> {
  await initProcessGroup({ backend: settings.backend });
  const isRank0 = getRank() === 0;
  const task = await prepare();
  const { model } = settings.compare === true ? await compare(task) : await train(task, defaultGroup());
  await destroyProcessGroup();
  if (isRank0) await task.afterwards?.(model);
}
