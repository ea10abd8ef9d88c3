import { RingrunError } from '@ringrun/collectives';

/** A file that is not what a data set's files are. The message says what was found, what was expected, and what to do. */
export class InvalidDataError extends RingrunError {
  readonly file: string;

  constructor(file: string, problem: string, cure: string, options?: ErrorOptions) {
    super('ERR_INVALID_DATA', `${file}: ${problem}. ${cure}`, options);
    this.file = file;
  }
}
