import { restartBackoffOf } from '@ringrun/rendezvous/rounds';
import type { RestartBackoff } from '@ringrun/rendezvous/rounds';
import { CommandError } from '../command-error.ts';

/** @throws CommandError with exit code 2 if a variable is invalid. */
export function readBackoff(env: NodeJS.ProcessEnv): RestartBackoff {
  try {
    return restartBackoffOf(env);
  } catch (error) {
    throw new CommandError(2, (error as Error).message, { cause: error });
  }
}
