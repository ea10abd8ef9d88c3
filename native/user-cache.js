// Plain JavaScript, because build.js runs before TypeScript is compiled.
import { statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

export function userCache(env) {
  const given = env.XDG_CACHE_HOME;
  if (given !== undefined && isAbsolute(given)) return given;
  const home = homeFolder();
  if (home !== undefined) return join(home, '.cache');
  const user = process.getuid?.() ?? 'this user';
  throw new Error(
    `no folder for caches: expected XDG_CACHE_HOME, HOME or a home directory of user ${user}, got none of them. ` +
      'Set XDG_CACHE_HOME to a writable folder.',
  );
}

export function homeFolder() {
  return [homedir, () => userInfo().homedir].map(resultOf).find((found) => found && isAbsolute(found));
}

/** Undefined if /etc/passwd does not have the user. */
function resultOf(look) {
  try {
    return look();
  } catch {
    return undefined;
  }
}

export function problemOfOwner(folder) {
  const { uid, mode } = statSync(folder);
  if (process.getuid !== undefined && uid !== process.getuid()) return `its folder is owned by user ${uid}`;
  if ((mode & 0o022) !== 0) return 'its folder is writable by other users';
  return undefined;
}
