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
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) {
    const what = found ? 'is not a file' : 'does not exist';
    throw new LaunchError(
      2,
      `The script ${given} ${what}. Give its path from ${process.cwd()}, or an absolute one.`,
    );
  }
  const language = languages[extname(path)];
  if (!language) {
    throw new LaunchError(
      2,
      `The script ${given} is none that Node runs: expected ${Object.keys(languages).join(', ')}.`,
    );
  }
  return { path, language };
}
