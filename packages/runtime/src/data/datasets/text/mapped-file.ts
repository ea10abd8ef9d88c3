import { constants } from 'node:buffer';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { loadNative } from '@ringrun/native';
import { directoryError } from '../../../storage/directory-errors.ts';
import { InvalidDataError } from '../invalid-data-error.ts';

/**
 * The bytes of a file, mapped into memory: the kernel reads a page when it is first used, shares it among processes
 * and threads, and may drop it again. Writes to the array do not change the file. The file must not be truncated while
 * it is mapped: access beyond its end would end the process.
 *
 * @throws StorageError if the file cannot be opened or mapped, InvalidDataError if it is larger than an array can be
 */
export function mappedFile(path: string): Uint8Array<ArrayBuffer> {
  try {
    const fd = openSync(path, 'r');
    try {
      return new Uint8Array(loadNative().mapFile(fd, mappableSize(path, fd)));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (error instanceof InvalidDataError) throw error;
    throw directoryError(`mapping ${path}`, error);
  }
}

function mappableSize(path: string, fd: number): number {
  const { size } = fstatSync(fd);
  if (size <= constants.MAX_LENGTH) return size;
  throw new InvalidDataError(
    path,
    `has ${size} bytes, but an array of this Node.js has at most ${constants.MAX_LENGTH}`,
    'Split the file, or use a newer Node.js.',
  );
}
