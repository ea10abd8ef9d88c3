/** Why nothing was started; `ringrun` prints the message without a stack. */
export class LaunchError extends Error {
  readonly code = 'ERR_LAUNCH';
  /** 2 when the command line is wrong, as Unix tools have it; 1 when the machine is in the way. */
  readonly exitCode: 1 | 2;

  constructor(exitCode: 1 | 2, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LaunchError';
    this.exitCode = exitCode;
  }
}
