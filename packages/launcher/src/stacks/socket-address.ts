import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

/** Most bytes of an address that every system takes: `sun_path` has 108 on Linux and 104 on macOS, with a zero at its end. */
const maxBytes = 103;

/**
 * Calls `use` with an address of the Unix socket `folder/name`, however long the path is; `use` must bind or connect before
 * it returns. A longer address is not refused but cut off by libuv before 1.46.
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
