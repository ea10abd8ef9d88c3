import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { noTypeScript, typescriptSupport } from '../typescript/support.ts';
import { CommandError } from '../command-error.ts';
import type { Program } from '../options/program.ts';
import { abbreviated, findScript, problemOf } from './script.ts';
import type { Script } from './script.ts';

/** A script or program that exists and can be executed. */
export type Executable = { readonly arguments: readonly string[] } & (
  | { readonly kind: 'script'; readonly script: Script }
  | { readonly kind: 'program'; /** Absolute. */ readonly path: string }
);

/**
 * Resolves `program` from the current folder.
 *
 * @throws CommandError with exit code 2 if it does not exist or cannot be executed, or if nothing can run TypeScript.
 */
export function findExecutable({ kind, name, arguments: args }: Program): Executable {
  if (kind === 'program') {
    const remedy = '--no-node runs a program: pass its path, or a name that is in PATH.';
    return { kind, path: findProgram(name, process.env, remedy), arguments: args };
  }
  const script = kind === 'module' ? findModule(name) : findScript(name);
  if (script.language === 'typescript' && typescriptSupport() === undefined)
    throw new CommandError(2, noTypeScript(abbreviated(name)).message);
  return { kind: 'script', script, arguments: args };
}

/**
 * Finds a program as a shell does: a name with a slash is a path; any other name is searched in PATH.
 *
 * @param remedy Last sentence of the error: the fix.
 */
export function findProgram(name: string, env: NodeJS.ProcessEnv, remedy: string): string {
  const isPath = name.includes('/');
  const folders = isPath ? [''] : (env['PATH'] ?? '').split(delimiter);
  const candidates = folders.map((folder) => resolve(join(folder, name)));
  const found = candidates.find(isExecutableFile);
  if (found !== undefined) return found;
  const why = isPath ? describeUnusable(candidates[0]) : 'is not in PATH';
  throw new CommandError(2, `The program ${abbreviated(name)} ${why}. ${remedy}`);
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
  return problemOf(path) ?? `is not executable (chmod +x ${path})`;
}

/**
 * Resolves the entry point of a package, or of a subpath (`package/part`), from the current folder as `import` does.
 * Runs a separate process (40 ms), because `import.meta.resolve` resolves from the importing module only.
 *
 * @throws CommandError with exit code 2 and Node's message if it is not found, or if Node.js does not run its file type.
 */
function findModule(name: string): Script {
  // npm allows 214 characters; the kernel rejects arguments of 128 KiB.
  if (name.length > 1000) {
    throw new CommandError(2, `-m: expected the name of a package, got ${abbreviated(name)}.`);
  }
  const program = 'process.stdout.write(import.meta.resolve(process.argv[1]))';
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program, '--', name],
    { encoding: 'utf8' },
  );
  if (status !== 0) {
    const words = /^(?:\w*Error\b.*?): (.*)$/m.exec(stderr)?.[1] ?? stderr.trim();
    throw new CommandError(
      2,
      `Package ${name} not found from ${process.cwd()}: ${words}. Install it there, or pass a script.`,
    );
  }
  if (!stdout.startsWith('file:')) {
    throw new CommandError(
      2,
      `-m: expected a package, got ${name}, which is a built-in module of Node.js (${stdout}).`,
    );
  }
  return findScript(fileURLToPath(stdout));
}
