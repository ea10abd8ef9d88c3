import { constants } from 'node:buffer';
import { open } from 'node:fs/promises';

/** Node reads less than 2 GiB at once. */
const readAtOnce = 2 ** 30;

/**
 * All bytes of a file, of any size that an array can have.
 *
 * @param atOnce bytes of one read; default: 1 GiB
 * @throws the file system's error
 */
export async function readWhole(path: string, atOnce = readAtOnce): Promise<Uint8Array<ArrayBuffer>> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    // Generated files, such as those in /proc, have size 0.
    if (size === 0) return await file.readFile();
    if (size > constants.MAX_LENGTH)
      throw new Error(
        `it has ${size} bytes, but an array of this Node.js has at most ${constants.MAX_LENGTH}`,
      );
    const bytes = new Uint8Array(size);
    let read = 0;
    while (read < size) {
      const { bytesRead } = await file.read(bytes, read, Math.min(atOnce, size - read), read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  } finally {
    await file.close();
  }
}
