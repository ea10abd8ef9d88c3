/** The state that both sides of a read-ahead share. */
interface Ahead<Chunk> {
  ready: (Chunk | { error: unknown } | 'end')[];
  /** Size of the chunks in `ready`. */
  held: number;
  isStopped: boolean;
  /** Called when `ready` has grown. */
  wakeTaker: () => void;
  /** Called when `ready` has shrunk, or when reading is to stop. */
  wakeReader: () => void;
}

/**
 * Reads chunks before they are needed: at most `bytes` bytes, and at least one chunk. Errors are thrown in order, after
 * the preceding chunks.
 */
export async function* readAhead<Chunk extends { length: number }>(
  chunks: AsyncIterable<Chunk>,
  bytes: number,
): AsyncGenerator<Chunk, void> {
  const none = () => undefined;
  const ahead: Ahead<Chunk> = { ready: [], held: 0, isStopped: false, wakeTaker: none, wakeReader: none };
  const reading = readInto(ahead, chunks, bytes);
  try {
    for (;;) {
      const next = ahead.ready.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => (ahead.wakeTaker = resolve));
        continue;
      }
      if (next === 'end') return;
      if ('error' in next) throw next.error;
      ahead.held -= next.length;
      ahead.wakeReader();
      yield next;
    }
  } finally {
    ahead.isStopped = true;
    ahead.wakeReader();
    await reading;
  }
}

async function readInto<Chunk extends { length: number }>(
  ahead: Ahead<Chunk>,
  chunks: AsyncIterable<Chunk>,
  bytes: number,
): Promise<void> {
  const put = (item: Ahead<Chunk>['ready'][number]) => {
    ahead.ready.push(item);
    ahead.wakeTaker();
  };
  try {
    for await (const chunk of chunks) {
      ahead.held += chunk.length;
      put(chunk);
      while (ahead.held >= bytes && !ahead.isStopped)
        await new Promise<void>((resolve) => (ahead.wakeReader = resolve));
      if (ahead.isStopped) return;
    }
    put('end');
  } catch (error) {
    put({ error });
  }
}
