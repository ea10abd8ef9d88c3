import type { InitializeHook, LoadHook } from 'node:module';
import { fileURLToPath } from 'node:url';

let mainUrl: string | undefined;

export const initialize: InitializeHook<{ mainUrl: string | undefined }> = (data) => {
  mainUrl = data.mainUrl;
};

/**
 * Gives a .cts file the `require` of a CommonJS file. tsx returns the compiled source, so that Node.js finds its named
 * exports. Node.js before 22.22.3 and 24.11.1 then passes it a `require` that resolves like `import` and fails for
 * TypeScript.
 *
 * The main script needs no named exports. Without a source, Node's CommonJS loader runs it, so `require.main` is set.
 */
export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (loaded.format !== 'commonjs' || !loaded.source || !/^file:[^?#]*\.cts$/.test(url)) return loaded;
  // Node.js accepts null, but its types do not.
  if (url === mainUrl) return { ...loaded, source: null as unknown as string };
  const banner = `require = require('node:module').createRequire(${JSON.stringify(fileURLToPath(url))});`;
  const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
  return { ...loaded, source: banner + source };
};
