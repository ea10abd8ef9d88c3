import { readFileSync } from 'node:fs';
import type { InitializeHook, ResolveHook } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasModuleSyntax } from './module-syntax-detection.ts';

/** The thread of the hooks has an environment of its own. tsx, which is loaded there next, reads it once. */
export const initialize: InitializeHook<NodeJS.ProcessEnv> = (variables) => {
  Object.assign(process.env, variables);
};

/**
 * Says `module` for a .ts or .js file that is one by its syntax and whose package.json names no type, as Node itself does. tsx takes
 * such a file for CommonJS, where a top-level await is an error.
 */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolved = await next(specifier, context);
  if (resolved.format || !/^file:(?!.*\/node_modules\/).*\.[jt]s$/.test(resolved.url)) return resolved;
  const path = fileURLToPath(resolved.url);
  const isModule = packageType(dirname(path)) === undefined && hasModuleSyntax(readFileSync(path, 'utf8'));
  return isModule ? { ...resolved, format: 'module' } : resolved;
};

/** `type` in the package.json that rules `folder`. */
function packageType(folder: string): unknown {
  const manifest = readManifest(folder);
  if (manifest) return manifest.type;
  const parent = dirname(folder);
  return parent === folder ? undefined : packageType(parent);
}

function readManifest(folder: string): { type?: unknown } | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, 'package.json'), 'utf8');
  } catch {
    return undefined;
  }
  return JSON.parse(text) as { type?: unknown };
}
