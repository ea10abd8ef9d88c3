import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { LaunchError } from './launch-error.ts';
import { findModule } from './module-entry.ts';
import type { Program } from './options/program.ts';
import { abbreviated, findScript, problemOf } from './script.ts';
import type { Script } from './script.ts';

/** What a worker runs, found: it exists, and can be run. */
export type Executable = { readonly arguments: readonly string[] } & (
  | { readonly kind: 'script'; readonly script: Script }
  | { readonly kind: 'program'; /** Absolute. */ readonly path: string }
);

/**
 * Finds what `program` names, from the current folder.
 *
 * @throws LaunchError with exit code 2 when there is nothing of the kind, or it cannot be run.
 */
export function findExecutable({ kind, name, arguments: args }: Program): Executable {
  if (kind === 'program') {
    const remedy = '--no-node runs a program: give its path, or a name that PATH has.';
    return { kind, path: findProgram(name, process.env, remedy), arguments: args };
  }
  const script = kind === 'module' ? findModule(name) : findScript(name);
  return { kind: 'script', script, arguments: args };
}

/**
 * As a shell finds it: a name with a slash is a path, another one is looked for in PATH.
 *
 * @param remedy What to do where there is none.
 */
export function findProgram(name: string, env: NodeJS.ProcessEnv, remedy: string): string {
  const isPath = name.includes('/');
  const folders = isPath ? [''] : (env['PATH'] ?? '').split(delimiter);
  const candidates = folders.map((folder) => resolve(join(folder, name)));
  const found = candidates.find(isExecutableFile);
  if (found !== undefined) return found;
  const why = isPath ? describeUnusable(candidates[0]) : 'is in no folder of PATH';
  throw new LaunchError(2, `The program ${abbreviated(name)} ${why}. ${remedy}`);
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function describeUnusable(path: string): string {
  return problemOf(path) ?? `may not be executed (chmod +x ${path})`;
}
