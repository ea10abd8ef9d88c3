import { registry } from '@ringrun/core';
import type { CollectiveTimeoutError } from '@ringrun/core';

/**
 * Explains in the errors of timeouts why they have no stacks, if this process has no helper thread that could collect
 * them. Starting one here would cost each process several MB.
 */
export function explainMissingStacks(): void {
  registry.reportTimeout ??= ({ operation, missing }: CollectiveTimeoutError) => {
    const ranks = missing.map(({ rank, host, pid }) => `rank ${rank} (host ${host}, pid ${pid})`);
    return (
      `ringrun: timeout of ${operation}: missing ${ranks.join(', ')}. ` +
      "There are no stacks, because ringrun's launcher did not start this script. Start it with `ringrun` to get the stacks of all ranks.\n"
    );
  };
}
