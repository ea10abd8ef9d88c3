import { readdirSync, readlinkSync } from 'node:fs';

/** The targets of a process's open descriptors (proc(5)): a path, or `socket:[INODE]` and the like. */
export function descriptorTargets(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`);
    } catch (error) {
      // It was closed after the folder was read.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}
