import * as shared from '../user-cache.js';

// build.js, which runs before TypeScript is compiled, uses the same JavaScript. Its declarations lie outside of dist.

/** The user's folder for caches: `$XDG_CACHE_HOME`, or `~/.cache`. @throws Error if the user has neither */
export const userCache: (env: NodeJS.ProcessEnv) => string = shared.userCache;

/** The user's home directory; undefined without one. */
export const homeFolder: () => string | undefined = shared.homeFolder;
