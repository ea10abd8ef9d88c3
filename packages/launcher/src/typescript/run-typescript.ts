import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { cacheVariable, typescriptCacheFolder } from './cache.ts';
import { isPrivate } from '../host/cache-folder.ts';
import { resolveSync } from './inner-hooks.ts';
import { registerHooks } from './module-hooks.ts';
import { noTypeScript, typescriptSupport } from './support.ts';

let running: Promise<void> | undefined;

/** Whether the module with this name or URL is TypeScript. */
export function isTypeScript(module: string): boolean {
  return /\.[cm]?tsx?$/.test(module);
}

/**
 * Registers tsx for `import` and `require` in this thread. Without tsx, Node.js runs TypeScript by itself if it can.
 *
 * @param module Name of the module in the error.
 * @throws RingrunError `ERR_PACKAGE_MISSING` if neither can run TypeScript.
 */
export async function runTypeScript(module = process.argv[1] ?? 'TypeScript'): Promise<void> {
  const support = typescriptSupport();
  if (support === undefined) throw noTypeScript(module);
  if (support === 'tsx') await (running ??= registerTsxAndHooks());
}

async function registerTsxAndHooks(): Promise<void> {
  const variables = tsxVariables();
  if (registerHooks !== undefined) {
    // Hooks run in the reverse order of their registration. The outer hooks are for older versions of Node.js.
    registerHooks({ resolve: resolveSync });
    await withEnvironment(variables, registerTsx);
    return;
  }
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  register(`./inner-hooks.${extension}`, import.meta.url, { data: variables });
  await withEnvironment(variables, registerTsx);
  register(`./outer-hooks.${extension}`, import.meta.url, { data: { mainUrl: urlOfMainScript() } });
}

/** Undefined in threads, and without a main script (`node --eval`). */
function urlOfMainScript(): string | undefined {
  const path = process.argv[1];
  return isMainThread && path && existsSync(path) ? pathToFileURL(realpathSync(path)).href : undefined;
}

async function registerTsx(): Promise<void> {
  const [commonJs, modules] = await Promise.all([import('tsx/cjs/api'), import('tsx/esm/api')]);
  commonJs.register();
  modules.register();
}

/**
 * Variables that set tsx's folder for compiled code and its socket. tsx's default is a predictable name in /tmp, where
 * another user could plant code that then runs as this user.
 */
function tsxVariables(): NodeJS.ProcessEnv {
  const folder = launchersFolder() ?? typescriptCacheFolder(process.env) ?? temporaryFolder();
  // Without a writable folder, disable the cache; no path below /dev/null can exist.
  return folder === undefined ? { TMPDIR: '/dev/null', TSX_DISABLE_CACHE: '1' } : { TMPDIR: folder };
}

function launchersFolder(): string | undefined {
  const folder = process.env[cacheVariable];
  return folder !== undefined && isPrivate(folder) ? folder : undefined;
}

/** A temporary folder for this process. The first thread creates it, and all threads share it. */
function temporaryFolder(): string | undefined {
  const shared = getEnvironmentData(cacheVariable);
  if (typeof shared === 'string') return shared;
  try {
    const folder = mkdtempSync(join(tmpdir(), 'ringrun-typescript-'));
    setEnvironmentData(cacheVariable, folder);
    process.once('exit', () => {
      rmSync(folder, { recursive: true, force: true });
    });
    return folder;
  } catch {
    return undefined;
  }
}

/** Sets variables only while tsx is loaded, which reads them then, so that the script does not see them. */
async function withEnvironment(variables: NodeJS.ProcessEnv, run: () => Promise<void>): Promise<void> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  try {
    await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  }
}
