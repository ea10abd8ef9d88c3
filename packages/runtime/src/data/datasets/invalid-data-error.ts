import { RingrunError } from '@ringrun/core';

/** A file of a data set is invalid. The message has the actual and the expected content, and the fix. */
export class InvalidDataError extends RingrunError {
  /** Path of the file, folder or bucket; or the name of the variable or data set that has the problem. */
  readonly file: string;

  constructor(file: string, problem: string, cure: string, options?: ErrorOptions) {
    super('ERR_INVALID_DATA', `${file}: ${problem}. ${cure}`, options);
    this.file = file;
  }
}
