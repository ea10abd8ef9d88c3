import { userCacheFolder } from '../host/cache-folder.ts';

/** Path of the folder in which the launcher's workers cache compiled TypeScript. Set by the launcher. */
export const cacheVariable = 'RINGRUN_TYPESCRIPT_CACHE';

/** The user's folder for compiled TypeScript, as `userCacheFolder`. */
export function typescriptCacheFolder(env: NodeJS.ProcessEnv): string | undefined {
  return userCacheFolder('typescript', env);
}
