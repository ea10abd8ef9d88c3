import { RingrunError } from '@ringrun/core';

/** Error of @ringrun/tfjs. `code` is stable across versions. Collectives throw ringrun's errors. */
export class TfjsError extends RingrunError {
  /** Stable name of the kind of failure; docs/errors.md lists all of them. */
  declare readonly code:
    | 'ERR_ARGUMENT'
    | 'ERR_NOT_INITIALIZED'
    | 'ERR_ALREADY_DISTRIBUTED'
    | 'ERR_NOT_DISTRIBUTED'
    | 'ERR_OPTIMIZER_MISMATCH'
    | 'ERR_VARIABLES_MISMATCH'
    | 'ERR_VARIABLES_DIFFER'
    | 'ERR_DEVICES'
    | 'ERR_CHECKPOINT';

  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- admits only the codes above
  constructor(code: TfjsError['code'], message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
