import type { ReadEntry } from 'tar';
import { InvalidDataError } from '../invalid-data-error.ts';
import { replaceIt } from './batch.ts';

/** A file from an archive. */
export interface Member {
  /** Its path in the archive. */
  name: string;
  bytes: Uint8Array;
}

/** Maximum bytes of the wanted files, 6 times CIFAR-10's. */
const maxBytes = 2 ** 30;

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
  let claimed = 0;
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: InvalidDataError) => {
      reject(error);
      parser.abort(error);
    };
    const onReadEntry = (entry: ReadEntry) => {
      current = entry.path;
      if (entry.type === 'File' && isWanted(entry.path)) {
        claimed += entry.size;
        if (claimed > maxBytes) refuse(tooLarge(file, entry, claimed));
        else collect(entry, members);
      } else entry.resume();
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

function tooLarge(file: string, { path, size }: ReadEntry, claimed: number): InvalidDataError {
  const problem = `its member ${path} claims ${size} bytes, and the members so far ${claimed}: expected at most ${maxBytes} in all`;
  return new InvalidDataError(file, problem, replaceIt);
}

/** Allocates the received bytes, not the size that the archive claims. */
function collect(entry: ReadEntry, members: Member[]): void {
  const chunks: Buffer[] = [];
  entry.on('data', (chunk: Buffer) => chunks.push(chunk));
  entry.on('end', () => members.push({ name: entry.path, bytes: Buffer.concat(chunks) }));
}
