import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/** Names the folder in which this launcher's workers keep compiled TypeScript; set by the launcher. */
export const cacheVariable = 'RINGRUN_TYPESCRIPT_CACHE';

/**
 * The user's folder for compiled TypeScript, `$XDG_CACHE_HOME/ringrun/typescript` or `~/.cache/ringrun/typescript`, made with mode 0700 if it does not
 * exist; undefined if it cannot be made, or if another user could write to it or replace it: what lies there is executed.
 */
export function userCacheFolder(env: NodeJS.ProcessEnv): string | undefined {
  const cache = env['XDG_CACHE_HOME'];
  try {
    // The XDG specification says to ignore a relative path.
    const base = cache && isAbsolute(cache) ? cache : join(homedir(), '.cache');
    const folder = join(base, 'ringrun', 'typescript');
    for (const each of [base, dirname(folder), folder]) makeFolder(each);
    return isPrivate(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Not `recursive`, which never returns where mkdir answers ENOENT, as in /proc. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Whether `folder` is this user's, with mode 0700, and no other user can replace it or a folder above it. False if it does not exist. */
export function isPrivate(folder: string): boolean {
  try {
    const path = realpathSync(folder);
    const stats = lstatSync(path);
    return stats.isDirectory() && isOwn(stats) && (stats.mode & 0o077) === 0 && parentsAreSafe(dirname(path));
  } catch {
    return false;
  }
}

/** Entries of a folder are safe if the folder belongs to this user or to root, and others cannot write to it, or not rename what is not theirs (sticky). */
function parentsAreSafe(folder: string): boolean {
  const stats = lstatSync(folder);
  const isSafe = (isOwn(stats) || stats.uid === 0) && (!isWritableByOthers(stats) || isSticky(stats));
  const parent = dirname(folder);
  return isSafe && (parent === folder || parentsAreSafe(parent));
}

function isOwn({ uid }: Stats): boolean {
  return uid === process.geteuid?.();
}

function isWritableByOthers({ mode }: Stats): boolean {
  return (mode & 0o022) !== 0;
}

function isSticky({ mode }: Stats): boolean {
  return (mode & 0o1000) !== 0;
}
