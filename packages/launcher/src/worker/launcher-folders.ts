import { lstatSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordFolderName } from './record-folder.ts';

/** The temporary folders of this user's launchers, which `makeRecordFolder` creates. */
export function launcherFolders(): { path: string; launcherPid: number }[] {
  return namesIn(tmpdir()).flatMap((name) => {
    const found = recordFolderName.exec(name);
    const path = join(tmpdir(), name);
    return found && isOwnFolder(path) ? [{ path, launcherPid: Number(found[1]) }] : [];
  });
}

/** Names in a folder; empty if it does not exist, or if a launcher has removed it meanwhile. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isOwnFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}
