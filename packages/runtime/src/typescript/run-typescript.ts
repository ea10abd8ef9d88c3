import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { cacheVariable, isPrivate, userCacheFolder } from './cache-folder.ts';

let running: Promise<void> | undefined;

/** Whether Node needs help to run the module of this name or URL. */
export function isTypeScript(module: string): boolean {
  return /\.[cm]?tsx?$/.test(module);
}

/**
 * From now on, `import` and `require` of this thread run TypeScript through tsx, alike on every version of Node: Node's own type stripping refuses enums,
 * namespaces, parameter properties, imports without extension and `./x.js` for x.ts.
 */
export function runTypeScript(): Promise<void> {
  return (running ??= registerHooks());
}

async function registerHooks(): Promise<void> {
  const variables = tsxVariables();
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  // Hooks run in the reverse order of their registration.
  register(`./inner-hooks.${extension}`, import.meta.url, { data: variables });
  await withEnvironment(variables, registerTsx);
  register(`./outer-hooks.${extension}`, import.meta.url, { data: { mainUrl: urlOfMainScript() } });
}

/** Undefined in threads, and where there is none (`node --eval`). */
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
 * Where tsx keeps what it has compiled, and a socket. Its default is a predictable name in /tmp, where another user of the host can plant both: code that
 * runs as this user.
 */
function tsxVariables(): NodeJS.ProcessEnv {
  const folder = launchersFolder() ?? userCacheFolder(process.env) ?? temporaryFolder();
  // Where nothing can be written, nothing is kept, and no name below a file exists.
  return folder === undefined ? { TMPDIR: '/dev/null', TSX_DISABLE_CACHE: '1' } : { TMPDIR: folder };
}

function launchersFolder(): string | undefined {
  const folder = process.env[cacheVariable];
  return folder !== undefined && isPrivate(folder) ? folder : undefined;
}

/** For this process, whose threads share it: made by the first of them that needs it. */
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

/** tsx reads its variables when it is loaded; the script shall not see them. */
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
