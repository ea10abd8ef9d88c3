/** Error of @ringrun/tfjs. `code` is stable across versions. Collectives throw ringrun's errors. */
export class TfjsError extends Error {
  /** Stable name of the kind of failure; docs/errors.md lists all of them. */
  readonly code:
    | 'ERR_ARGUMENT'
    | 'ERR_NOT_INITIALIZED'
    | 'ERR_ALREADY_DISTRIBUTED'
    | 'ERR_NOT_DISTRIBUTED'
    | 'ERR_OPTIMIZER_MISMATCH'
    | 'ERR_VARIABLES_MISMATCH'
    | 'ERR_VARIABLES_DIFFER'
    | 'ERR_DEVICES'
    | 'ERR_CHECKPOINT';

  constructor(code: TfjsError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}
