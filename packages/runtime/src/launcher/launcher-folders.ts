import { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namesIn } from './host-files.ts';
import { recordFolderName } from './record-folder.ts';

/** The temporary folders of this user's launchers, which `makeRecordFolder` creates. */
export function launcherFolders(): { path: string; launcherPid: number }[] {
  return namesIn(tmpdir()).flatMap((name) => {
    const found = recordFolderName.exec(name);
    const path = join(tmpdir(), name);
    return found && isOwnFolder(path) ? [{ path, launcherPid: Number(found[1]) }] : [];
  });
}

function isOwnFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}
