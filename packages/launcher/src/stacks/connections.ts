// Connections of a worker's helper thread to the job's store. ZeroMQ aborts the process if a thread ends while it receives, so
// they are closed before the process exits.
import type { StackThread } from './stack-thread.ts';

/**
 * Milliseconds that process exit waits for the thread: connecting takes up to 1,500, closing takes one turn of its
 * event loop.
 */
const exitPatienceMs = 2000;

/** Asks the helper thread to close its connections. */
export const exitMessage = 'exit';

interface Closable {
  close(): Promise<void>;
}

/** On the helper thread: the open connections, and how many there are, in memory of both threads. */
export class Connections {
  readonly #count: Int32Array;
  readonly #open = new Set<Closable>();

  /** @param shared from `closeBeforeExit` */
  constructor(shared: SharedArrayBuffer) {
    this.#count = new Int32Array(shared);
  }

  /** Calls `run` with a connection, and closes it. */
  async use<Connection extends Closable, Result>(
    connect: () => Promise<Connection>,
    run: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    Atomics.add(this.#count, 0, 1);
    try {
      const connection = await connect();
      this.#open.add(connection);
      try {
        return await run(connection);
      } finally {
        this.#open.delete(connection);
        await connection.close();
      }
    } finally {
      Atomics.sub(this.#count, 0, 1);
      Atomics.notify(this.#count, 0);
    }
  }

  /** Closes all connections; calls that wait for an answer reject. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.#open].map((connection) => connection.close()));
  }
}

/** On the main thread: makes process exit wait until the helper thread has no connection. Returns its memory. */
export function closeBeforeExit(helper: Pick<StackThread, 'send'>): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const count = new Int32Array(shared);
  process.once('exit', () => {
    const until = performance.now() + exitPatienceMs;
    if (Atomics.load(count, 0) > 0) helper.send(exitMessage);
    for (let open = Atomics.load(count, 0); open > 0; open = Atomics.load(count, 0)) {
      if (Atomics.wait(count, 0, open, until - performance.now()) === 'timed-out') return;
    }
  });
  return shared;
}
