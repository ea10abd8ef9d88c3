import type { ResolveHook } from 'node:module';
import { pathToFileURL } from 'node:url';
import { isOwnPackage } from './own-packages-names.ts';
import { packageHomes } from './package-homes.ts';

/** Resolves ringrun's packages from the launcher's folders if the importing module cannot. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!isOwnPackage(specifier)) throw error;
    for (const home of packageHomes) {
      try {
        return await next(specifier, { ...context, parentURL: pathToFileURL(home).href });
      } catch (errorAtHome) {
        // Try the next home. If none has the package, throw the first error, which names the user's own path.
        if ((errorAtHome as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw errorAtHome;
      }
    }
    throw error;
  }
};
