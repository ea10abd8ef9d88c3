import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * The user's folder for caches: `$XDG_CACHE_HOME`, or `~/.cache`. A relative `XDG_CACHE_HOME` is ignored, as the XDG
 * specification requires.
 *
 * @throws Error if the user has neither, such as a container's user without an entry in /etc/passwd
 */
export function userCache(env: NodeJS.ProcessEnv): string {
  const given = env['XDG_CACHE_HOME'];
  if (given !== undefined && isAbsolute(given)) return given;
  const home = homeFolder();
  if (home !== undefined) return join(home, '.cache');
  const user = process.getuid?.() ?? 'this user';
  throw new Error(
    `no folder for caches: expected XDG_CACHE_HOME, HOME or a home directory of user ${user}, got none of them. ` +
      'Set XDG_CACHE_HOME to a writable folder.',
  );
}

/** The user's home directory: `$HOME`, or as in /etc/passwd. Undefined without both, where `os.homedir()` throws. */
export function homeFolder(): string | undefined {
  return [homedir, () => userInfo().homedir].map(resultOf).find((found) => found && isAbsolute(found));
}

/** Undefined if /etc/passwd does not have the user. */
function resultOf(look: () => string): string | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
