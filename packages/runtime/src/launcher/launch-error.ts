import { withoutCredentials } from '@ringrun/core';

/** A command of `ringrun` cannot do its work. `ringrun` prints the message without a stack. */
export class CommandError extends Error {
  readonly code = 'ERR_LAUNCH';
  /** 2 if the command line is wrong, as with Unix tools; 1 if the machine cannot run the job. */
  readonly exitCode: 1 | 2;

  constructor(exitCode: 1 | 2, message: string, options?: ErrorOptions) {
    super(withoutCredentials(message), options);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}
