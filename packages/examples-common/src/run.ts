import { defaultGroup, destroyProcessGroup, initProcessGroup } from 'ringrun';
import { compare } from './compare.ts';
import type { Settings } from './settings.ts';
import type { Task } from './task.ts';
import { train } from './train.ts';

/**
 * Runs an example: initializes the process group, prepares the data, trains, and destroys the group.
 * `prepare` is called on every rank, after the group is initialized.
 */
export async function run(settings: Settings, prepare: () => Promise<Omit<Task, 'settings'>>): Promise<void> {
  await initProcessGroup({ backend: settings.backend });
  const task = { settings, ...(await prepare()) };
  if (settings.compare) await compare(task);
  else await train(task, defaultGroup());
  await destroyProcessGroup();
}
