import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { userCache } from '@ringrun/native';

/**
 * The user's folder for compiled code: `$XDG_CACHE_HOME/ringrun/<name>` or `~/.cache/ringrun/<name>`. Created with mode
 * 0700. Undefined if it cannot be created, or if another user could write to it or replace it, because its files are
 * executed.
 */
export function userCacheFolder(name: string, env: NodeJS.ProcessEnv): string | undefined {
  try {
    const base = userCache(env);
    const folder = join(base, 'ringrun', name);
    for (const each of [base, dirname(folder), folder]) makeFolder(each);
    return isPrivate(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Without `recursive`, which never returns if mkdir fails with ENOENT, as in /proc. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Whether `folder` exists, belongs to this user, has mode 0700, and no other user can replace it or a parent folder.
 */
export function isPrivate(folder: string): boolean {
  try {
    const path = realpathSync(folder);
    const stats = lstatSync(path);
    return stats.isDirectory() && isOwn(stats) && (stats.mode & 0o077) === 0 && parentsAreSafe(dirname(path));
  } catch {
    return false;
  }
}

/** A parent folder is safe if it belongs to this user or root, and other users cannot write to it or it is sticky. */
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
