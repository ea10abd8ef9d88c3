import { Worker } from 'node:worker_threads';

/** What the thread receives. */
export interface StackThreadData {
  rank: string;
  /** In the launcher's temporary folder, where the thread listens. */
  errorFile: string;
}

/**
 * The helper thread of a worker, which answers requests for the state of this rank even while training blocks the main
 * thread.
 */
export class StackThread {
  readonly #data: StackThreadData;
  readonly #timer: NodeJS.Timeout | undefined;
  #thread: Worker | undefined;

  /** @param afterMs The thread starts after this time, or when it is used. 0: now. */
  constructor(data: StackThreadData, afterMs: number) {
    this.#data = data;
    if (afterMs > 0) this.#timer = setTimeout(() => this.#start(), afterMs).unref();
    else this.#start();
  }

  send(message: unknown): void {
    this.#start().postMessage(message);
  }

  #start(): Worker {
    clearTimeout(this.#timer);
    return (this.#thread ??= startThread(this.#data));
  }
}

function startThread(workerData: StackThreadData): Worker {
  // The file next to this one: compiled or TypeScript source.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const thread = new Worker(new URL(`./stack-server.${extension}`, import.meta.url), {
    workerData,
    execArgv: [],
  });
  thread.on('error', (error) => {
    process.stderr.write(
      `ringrun: rank ${workerData.rank} continues, but reports will lack its stack: its helper thread failed (${error.message}).\n`,
    );
  });
  thread.unref();
  return thread;
}
