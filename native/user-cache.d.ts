/**
 * The user's folder for caches: `$XDG_CACHE_HOME`, or `~/.cache`. A relative `XDG_CACHE_HOME` is ignored, as the XDG
 * specification requires.
 *
 * @throws Error if the user has neither, such as a container's user without an entry in /etc/passwd
 */
export function userCache(env: NodeJS.ProcessEnv): string;

/** The user's home directory: `$HOME`, or as in /etc/passwd. Undefined without both, where `os.homedir()` throws. */
export function homeFolder(): string | undefined;

/** Returns the reason not to load code from a folder: another user could have written it. */
export function problemOfOwner(folder: string): string | undefined;
