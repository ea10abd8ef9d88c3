import type * as Threads from 'node:worker_threads';
import type { WorkerOptions } from 'node:worker_threads';

/**
 * `node:worker_threads` for vi.mock. Threads inherit the options of their process, and those of a test's process resolve
 * packages to their TypeScript sources.
 */
export async function plainWorkers(original: () => Promise<typeof Threads>): Promise<typeof Threads> {
  const threads = await original();
  class Worker extends threads.Worker {
    constructor(entry: URL, options: WorkerOptions) {
      super(entry, { ...options, execArgv: [] });
    }
  }
  return { ...threads, Worker };
}
