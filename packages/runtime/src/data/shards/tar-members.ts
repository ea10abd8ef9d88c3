import { RingrunError } from '@ringrun/core';
import type { Parser, ReadEntry } from 'tar';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { decompressed } from './decompressed.ts';
import { tarBlocks } from './tar-blocks.ts';

/** A file in a tar archive. */
export interface TarMember {
  /** Its path in the archive. */
  name: string;
  /** The contents, in separate memory. */
  bytes: Uint8Array;
}

/**
 * The files of a tar archive, in their order: as it is, gzipped, or compressed by zstd (from Node.js 22.15 on). Folders and
 * links are skipped. Several concatenated archives, as by `cat`, are read as one; an empty archive has no files.
 *
 * @param url its name in errors
 * @throws InvalidDataError that names the shard and the member at which it is corrupt or ends early
 */
export async function* tarMembers(
  url: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<TarMember, void> {
  const { Parser } = await import('tar');
  let reader: TarReader | undefined;
  let zeros = 0;
  try {
    for await (const { bytes, isZero } of tarBlocks(decompressed(url, chunks))) {
      // Two blocks of zeros end an archive. More of them may follow, and then another archive.
      zeros = isZero ? zeros + 1 : 0;
      if (reader === undefined && isZero) continue;
      reader ??= new TarReader(Parser);
      await reader.write(bytes);
      yield* reader.taken();
      if (reader.isWhole) reader = undefined;
    }
    await reader?.end();
  } catch (error) {
    throw error instanceof RingrunError ? error : corrupt(url, error, reader?.current);
  }
  // Includes a file without any bytes.
  if (reader !== undefined || zeros === 0)
    throw corrupt(url, new Error('the archive has no end'), reader?.current);
}

function corrupt(url: string, error: unknown, current = 'its beginning'): InvalidDataError {
  const reason = error instanceof Error ? error.message : String(error);
  return new InvalidDataError(
    url,
    `expected a complete tar archive, but it is corrupt or truncated in ${current} (${reason})`,
    'Write or upload the shard again.',
    { cause: error },
  );
}

/** Reads one archive. */
class TarReader {
  /** Path of the member that is read. */
  current = 'its beginning';
  /** Whether the end mark of the archive was read. Without it, members may be missing. */
  isWhole = false;
  readonly #parser: Parser;
  #complete: TarMember[] = [];
  #failure: Error | undefined;
  readonly #ended: Promise<void>;

  constructor(Tar: typeof Parser) {
    this.#parser = new Tar({
      strict: true,
      onReadEntry: (entry) => {
        this.#read(entry);
      },
    });
    this.#parser.on('error', (error: Error) => (this.#failure ??= error));
    this.#parser.on('eof', () => (this.isWhole = true));
    this.#ended = new Promise((resolve) => {
      this.#parser.on('end', resolve);
      this.#parser.on('error', () => {
        resolve();
      });
    });
  }

  async write(bytes: Buffer): Promise<void> {
    const isDrained = this.#parser.write(bytes);
    this.#check();
    if (!isDrained) await new Promise<void>((resolve) => this.#parser.once('drain', resolve));
    this.#check();
  }

  async end(): Promise<void> {
    this.#parser.end();
    await this.#ended;
    this.#check();
  }

  /** The members that are complete since the last call. */
  taken(): TarMember[] {
    const members = this.#complete;
    this.#complete = [];
    return members;
  }

  #read(entry: ReadEntry): void {
    this.current = entry.path;
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
