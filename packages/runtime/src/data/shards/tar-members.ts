import type { Parser, ReadEntry } from 'tar';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';

/** A file in a tar archive. */
export interface TarMember {
  /** Its path in the archive. */
  name: string;
  /** In memory of their own. */
  bytes: Uint8Array;
}

/**
 * The files of a tar archive, gzipped or not, in their order. Folders and links are passed over.
 *
 * @param url its name in errors
 * @throws InvalidDataError that names the shard and the member at which it is corrupt or ends early
 */
export async function* tarMembers(
  url: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<TarMember, void> {
  const reader = new TarReader(url, (await import('tar')).Parser);
  for await (const chunk of chunks) {
    await reader.write(chunk);
    yield* reader.taken();
  }
  await reader.end();
  yield* reader.taken();
}

class TarReader {
  readonly #url: string;
  readonly #parser: Parser;
  #complete: TarMember[] = [];
  #current = 'its beginning';
  /** Whether the mark at the end of an archive has come, without which it may lack members. */
  #isWhole = false;
  #failure: InvalidDataError | undefined;
  readonly #ended: Promise<void>;

  constructor(url: string, Tar: typeof Parser) {
    this.#url = url;
    this.#parser = new Tar({
      strict: true,
      onReadEntry: (entry) => {
        this.#read(entry);
      },
    });
    this.#parser.on('error', (error: Error) => (this.#failure ??= this.#corrupt(error)));
    this.#parser.on('eof', () => (this.#isWhole = true));
    this.#ended = new Promise((resolve) => {
      this.#parser.on('end', resolve);
      this.#parser.on('error', () => {
        resolve();
      });
    });
  }

  async write(chunk: Uint8Array): Promise<void> {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const isDrained = this.#parser.write(bytes);
    this.#check();
    // gzipped archives: the parser has not inflated everything.
    if (!isDrained) await new Promise<void>((resolve) => this.#parser.once('drain', resolve));
    this.#check();
  }

  async end(): Promise<void> {
    this.#parser.end();
    await this.#ended;
    if (!this.#isWhole) this.#failure ??= this.#corrupt(new Error('the archive has no end'));
    this.#check();
  }

  /** The members that are complete since the last call. */
  taken(): TarMember[] {
    const members = this.#complete;
    this.#complete = [];
    return members;
  }

  #read(entry: ReadEntry): void {
    this.#current = entry.path;
    if (!['File', 'OldFile', 'ContiguousFile'].includes(entry.type)) {
      entry.resume();
      return;
    }
    const chunks: Buffer[] = [];
    entry.on('data', (chunk: Buffer) => chunks.push(chunk));
    entry.on('end', () => {
      // Copied, because a part would keep its whole chunk in memory while it waits to be shuffled.
      this.#complete.push({ name: entry.path, bytes: joined(chunks) });
    });
  }

  #check(): void {
    if (this.#failure) throw this.#failure;
  }

  #corrupt(error: Error): InvalidDataError {
    return new InvalidDataError(
      this.#url,
      `expected a complete tar archive, but it is corrupt or truncated in ${this.#current} (${error.message})`,
      'Write or upload the shard again.',
      { cause: error },
    );
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const chunk of chunks) {
    whole.set(chunk, end);
    end += chunk.length;
  }
  return whole;
}
