import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathProblem } from '@ringrun/core';
import { CommandError } from './launch-error.ts';

/** A script that exists. */
export interface Script {
  /** Absolute. */
  path: string;
  language: 'typescript' | 'javascript';
}

const languages: Readonly<Record<string, Script['language'] | undefined>> = {
  '.ts': 'typescript',
  '.mts': 'typescript',
  '.cts': 'typescript',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.cjs': 'javascript',
};

/**
 * Resolves a script from the current folder.
 *
 * @throws CommandError with exit code 2 if it is not a file, or if Node.js does not run its file type.
 */
export function findScript(given: string): Script {
  const path = resolve(given);
  const what = problemOf(path);
  if (what !== undefined) {
    throw new CommandError(
      2,
      `The script ${abbreviated(given)} ${what}. Pass its path from ${process.cwd()}, or an absolute path.`,
    );
  }
  const language = languages[extname(path)];
  if (!language) {
    throw new CommandError(
      2,
      `The script ${abbreviated(given)}: expected a file of the type ${Object.keys(languages).join(', ')}. To run another program, pass --no-node.`,
    );
  }
  return { path, language };
}

/** Why `path` cannot be run, to complete "The script <path> …"; undefined if it is a file. */
export function problemOf(path: string): string | undefined {
  const problem = pathProblem(path, 'file');
  if (problem === 'is a folder') return 'is not a file, but a folder';
  return (
    problem?.replace('cannot be read', 'cannot be found') ??
    (statSync(path).isFile() ? undefined : 'is not a file')
  );
}

/** Shortens a long name for a message. */
export function abbreviated(name: string): string {
  return name.length <= 200 ? name : `${name.slice(0, 200)}… (${name.length} characters)`;
}
