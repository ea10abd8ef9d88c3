import { defaultGroup, destroyProcessGroup, initProcessGroup } from 'ringrun';
import { compare } from './compare.ts';
import type { Settings } from './settings.ts';
import type { Task } from './task.ts';
import { train } from './train.ts';

/** What an example does: meets the other ranks, finds its data, trains, and leaves. `prepare` is called in the initialised group, on every rank. */
export async function run(settings: Settings, prepare: () => Promise<Omit<Task, 'settings'>>): Promise<void> {
  await initProcessGroup({ backend: settings.backend });
  const task = { settings, ...(await prepare()) };
  if (settings.compare) await compare(task);
  else await train(task, defaultGroup());
  await destroyProcessGroup();
}
