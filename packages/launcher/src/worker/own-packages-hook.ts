import type { ResolveHook } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { SyncResolve } from '../typescript/module-hooks.ts';
import { isOwnPackage } from './own-packages-names.ts';
import { packageHomes } from './package-homes.ts';

/** Resolves ringrun's packages from the launcher's folders if the importing module cannot. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!isOwnPackage(specifier)) throw error;
    for (const parentURL of homes) {
      try {
        return await next(specifier, { ...context, parentURL });
      } catch (errorAtHome) {
        throwUnlessNotFound(errorAtHome);
      }
    }
    throw error;
  }
};

/** `resolve` for `module.registerHooks`. */
export const resolveSync: SyncResolve = (specifier, context, next) => {
  try {
    return next(specifier, context);
  } catch (error) {
    if (!isOwnPackage(specifier)) throw error;
    for (const parentURL of homes) {
      try {
        return next(specifier, { ...context, parentURL });
      } catch (errorAtHome) {
        throwUnlessNotFound(errorAtHome);
      }
    }
    throw error;
  }
};

const homes = packageHomes.map((home) => pathToFileURL(home).href);

/** If no home has the package, the first error is thrown, which names the user's own path. */
function throwUnlessNotFound(error: unknown): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
}
