import { readFileSync } from 'node:fs';
import type { InitializeHook, ResolveFnOutput, ResolveHook } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SyncResolve } from './module-hooks.ts';
import { hasModuleSyntax } from './module-syntax-detection.ts';

/** The hooks' thread has its own environment, which tsx reads when it is loaded there, after this hook. */
export const initialize: InitializeHook<NodeJS.ProcessEnv> = (variables) => {
  Object.assign(process.env, variables);
};

export const resolve: ResolveHook = async (specifier, context, next) =>
  withFormat(await next(specifier, context));

/** `resolve` for `module.registerHooks`. */
export const resolveSync: SyncResolve = (specifier, context, next) => withFormat(next(specifier, context));

/**
 * Adds the format `module` to a .ts or .js file with module syntax whose package.json has no `type`, as Node.js
 * does. tsx treats such a file as CommonJS, where a top-level await is an error.
 */
function withFormat(resolved: ResolveFnOutput): ResolveFnOutput {
  if (resolved.format || !/^file:(?!.*\/node_modules\/).*\.[jt]s$/.test(resolved.url)) return resolved;
  const path = fileURLToPath(resolved.url);
  const isModule = packageType(dirname(path)) === undefined && hasModuleSyntax(readFileSync(path, 'utf8'));
  return isModule ? { ...resolved, format: 'module' } : resolved;
}

/** `type` in the package.json that applies to `folder`. */
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
