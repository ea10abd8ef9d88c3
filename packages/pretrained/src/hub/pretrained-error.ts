import { RingrunError } from '@ringrun/core';

/** Files of a pretrained model or an adapter are missing, were not downloaded, or do not fit. */
export class PretrainedError extends RingrunError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PRETRAINED', message, options);
  }
}
