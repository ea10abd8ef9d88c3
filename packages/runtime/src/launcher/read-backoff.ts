import { restartBackoffOf } from '../rendezvous/restart-backoff.ts';
import type { RestartBackoff } from '../rendezvous/restart-backoff.ts';
import { CommandError } from './launch-error.ts';

/** @throws CommandError with exit code 2 if a variable is invalid. */
export function readBackoff(env: NodeJS.ProcessEnv): RestartBackoff {
  try {
    return restartBackoffOf(env);
  } catch (error) {
    throw new CommandError(2, (error as Error).message, { cause: error });
  }
}
