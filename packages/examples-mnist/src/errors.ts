/** A file that is not what MNIST's files are. The message says what was found, what was expected, and what to do. */
export class InvalidDataError extends Error {
  readonly code = 'ERR_INVALID_DATA';
  readonly file: string;

  constructor(file: string, problem: string, cure: string, options?: ErrorOptions) {
    super(`${file}: ${problem}. ${cure}`, options);
    this.name = 'InvalidDataError';
    this.file = file;
  }
}
