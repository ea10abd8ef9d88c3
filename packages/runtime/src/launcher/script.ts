import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { LaunchError } from './launch-error.ts';

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
 * The script at `given`, a path from the current folder.
 *
 * @throws LaunchError with exit code 2 when it is no file, or of a kind that Node does not run.
 */
export function findScript(given: string): Script {
  const path = resolve(given);
  const what = problemOf(path);
  if (what !== undefined) {
    throw new LaunchError(
      2,
      `The script ${abbreviated(given)} ${what}. Give its path from ${process.cwd()}, or an absolute one.`,
    );
  }
  const language = languages[extname(path)];
  if (!language) {
    throw new LaunchError(
      2,
      `The script ${abbreviated(given)} is none that Node runs: expected ${Object.keys(languages).join(', ')}.`,
    );
  }
  return { path, language };
}

/** Why `path` is no file that can be run, behind its name; undefined where it is one. */
export function problemOf(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return 'does not exist';
    return found.isFile() ? undefined : 'is not a file';
  } catch (error) {
    // A name that is too long, a folder that may not be searched, links in a circle.
    return `cannot be found (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** A name as a message shows it: of a long one, the first characters. */
export function abbreviated(name: string): string {
  return name.length <= 200 ? name : `${name.slice(0, 200)}… (${name.length} characters)`;
}
