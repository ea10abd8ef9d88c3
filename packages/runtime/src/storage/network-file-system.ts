import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** File systems of one host, by `f_type` of statfs(2). Their changes are visible at once. */
const localTypes = new Map([
  [0xef53, 'ext'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlayfs'],
]);

/**
 * Whether a folder may be on a file system of several hosts, such as NFS, which lists the new files of another host late.
 * Asks about the parent of a folder that does not exist. False if the system does not answer.
 */
export async function mayListLate(folder: string): Promise<boolean> {
  try {
    const { type } = await statfs(folder).catch(() => statfs(dirname(folder)));
    return !localTypes.has(type);
  } catch {
    return false;
  }
}
