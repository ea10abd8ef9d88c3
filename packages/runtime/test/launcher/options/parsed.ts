import { CommanderError } from 'commander';
import { vi } from 'vitest';
import { CommandError } from '../../../src/launcher/launch-error.ts';
import { parseCommandLine } from '../../../src/launcher/options/command-line.ts';

/** Parses `ringrun <args> train.js` in an environment of these variables alone. */
export function parsed(args: string, env: NodeJS.ProcessEnv = {}) {
  return parseCommandLine([...args.split(' ').filter(Boolean), 'train.js'], env);
}

/** Returns the error message of a command line that is refused with exit code 2; fails if it is accepted. */
export function refusal(args: string, env: NodeJS.ProcessEnv = {}): string {
  const written: string[] = [];
  const stderr = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  try {
    parsed(args, env);
  } catch (error) {
    if (error instanceof CommanderError) return written.join('');
    if (error instanceof CommandError && error.exitCode === 2) return error.message;
    throw error;
  } finally {
    stderr.mockRestore();
  }
  throw new Error(`accepted: ${args} ${JSON.stringify(env)}`);
}
