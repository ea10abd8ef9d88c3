// A worker thread that is terminated while a synchronous operation blocks it.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { formGroup } from '../fixtures/groups.ts';
import { failureOf } from '../fixtures/scenario.ts';
import type { Rank } from '../fixtures/scenario.ts';

/**
 * Rank 1's side of the group is in a worker thread, which blocks in `operation`. `exits`: its main thread exits instead
 * of terminating the worker.
 */
export async function terminatedInOperation({
  rank,
  size,
  store,
  args,
  report,
}: Rank<{ operation: string; exits: boolean }>): Promise<void> {
  if (rank === 0) {
    const group = await formGroup({ store, rank, size }, 'worker', { timeoutMs: 120_000 });
    await once(process, 'message');
    const error = await failureOf(group.recv(new Float32Array(1), { src: 1, tag: 2 }));
    await group.destroy();
    await report({ name: error?.name, message: error?.message });
    return;
  }
  const worker = new Worker(new URL('rank-blocked-in-worker.js', new URL('../fixtures/', import.meta.url)), {
    workerData: args.operation,
  });
  await once(process, 'message');
  if (args.exits) process.exit(7);
  const code = await worker.terminate();
  await report({ code });
}
terminatedInOperation.formsGroupItself = true;
