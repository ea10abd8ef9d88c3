import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Maximum bytes of an address that every system accepts: `sun_path` has 108 on Linux and 104 on macOS, with a zero at
 * its end.
 */
const maxBytes = 103;

/**
 * Calls `use` with an address of the Unix socket `folder/name`, however long the path is; `use` must bind or connect before
 * it returns. libuv before 1.46 truncates a longer address instead of refusing it.
 *
 * @throws Error on systems without /proc, for a path that is too long
 */
export function withSocketAddress<Result>(
  folder: string,
  name: string,
  use: (address: string) => Result,
): Result {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= maxBytes) return use(path);
  const descriptor = openSync(folder, 'r');
  try {
    return use(`/proc/self/fd/${descriptor}/${name}`);
  } finally {
    closeSync(descriptor);
  }
}
