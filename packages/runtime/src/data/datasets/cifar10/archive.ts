import type { ReadEntry } from 'tar';
import { InvalidDataError } from '../invalid-data-error.ts';
import { replaceIt } from './batch.ts';

/** A file from an archive. */
export interface Member {
  /** Its path in the archive. */
  name: string;
  bytes: Uint8Array;
}

/**
 * Extracts the wanted files of a tar archive, gzipped or not. `file` is its name in errors. Rejects with an
 * `InvalidDataError` that names the member at which it is corrupt or truncated.
 */
export async function readArchive(
  archive: Uint8Array,
  file: string,
  isWanted: (name: string) => boolean,
): Promise<Member[]> {
  const { Parser } = await import('tar');
  const members: Member[] = [];
  let current = 'its beginning';
  await new Promise<void>((resolve, reject) => {
    const onReadEntry = (entry: ReadEntry) => {
      current = entry.path;
      if (entry.type === 'File' && isWanted(entry.path)) collect(entry, members);
      else entry.resume();
    };
    const parser = new Parser({ strict: true, onReadEntry });
    parser.on('error', (error: Error) => {
      const problem = `expected a complete tar.gz archive, but it is corrupt or truncated in ${current} (${error.message})`;
      reject(new InvalidDataError(file, problem, replaceIt, { cause: error }));
    });
    parser.on('end', resolve);
    parser.end(Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength));
  });
  return members;
}

function collect(entry: ReadEntry, members: Member[]): void {
  const bytes = new Uint8Array(entry.size);
  let received = 0;
  entry.on('data', (chunk: Buffer) => {
    bytes.set(chunk, received);
    received += chunk.length;
  });
  entry.on('end', () => members.push({ name: entry.path, bytes }));
}
