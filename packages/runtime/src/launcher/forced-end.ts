import type { NodeOutcome } from './agent.ts';

/** Returns, for example, `ended by SIGTERM; all workers ended`. */
export function describeForcedEnd({ workers, endedBy }: NodeOutcome): string {
  const killed = workers.filter(({ forced }) => forced).length;
  const how =
    killed > 0
      ? `${killed} of ${workers.length} workers did not end within the grace period and were killed`
      : 'all workers ended';
  return `ended by ${endedBy ?? 'the launcher'}; ${how}`;
}
