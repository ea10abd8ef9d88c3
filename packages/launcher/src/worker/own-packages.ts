// Lets a script import ringrun's packages if they are not installed in its own folder.
import Module, { register } from 'node:module';
import { registerHooks } from '../typescript/module-hooks.ts';
import { resolveSync } from './own-packages-hook.ts';
import { isOwnPackage } from './own-packages-names.ts';
import { packageHomes } from './package-homes.ts';

interface CommonJsLoader {
  _resolveFilename(
    request: string,
    parent: unknown,
    isMain: boolean,
    options?: { paths: readonly string[] },
  ): string;
}

if (registerHooks === undefined) register('./own-packages-hook.js', import.meta.url);
else registerHooks({ resolve: resolveSync });
resolveForRequireToo(Module as unknown as CommonJsLoader);

/** tsx compiles imports of CommonJS files to `require`, which the hooks of `register` do not handle, and those of `registerHooks` not from another parent. */
function resolveForRequireToo(loader: CommonJsLoader): void {
  const resolveFilename = loader._resolveFilename.bind(loader);
  loader._resolveFilename = (request, parent, isMain, options) => {
    try {
      return resolveFilename(request, parent, isMain, options);
    } catch (error) {
      if (!isOwnPackage(request)) throw error;
      try {
        return resolveFilename(request, undefined, false, { paths: packageHomes });
      } catch {
        throw error;
      }
    }
  };
}
