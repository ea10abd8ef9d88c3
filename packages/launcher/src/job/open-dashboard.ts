import type { Dashboard } from '../dashboard/dashboard.ts';
import type { EventLog } from '../dashboard/event-log.ts';
import { jobNameOf } from '../options/launch-options.ts';
import type { LaunchOptions } from '../options/launch-options.ts';

/**
 * This node's part of the dashboard, if `--dashboard` asks for one. The node of the store serves the page, because it
 * lives as long as the job even if other nodes leave.
 *
 * @param isStoreServer Whether this node serves the store of the job.
 * @throws CommandError if the page cannot be served.
 */
export async function openDashboard(
  options: LaunchOptions,
  isStoreServer: boolean,
  events: EventLog,
): Promise<Dashboard | undefined> {
  const { dashboard } = options;
  if (dashboard === undefined) return undefined;
  // Loaded only for jobs with a dashboard.
  const { Dashboard } = await import('../dashboard/dashboard.ts');
  const job = { name: jobNameOf(options), events };
  return isStoreServer ? Dashboard.serve(dashboard, job) : Dashboard.send(job);
}
