import { RingrunError } from '@ringrun/core';
import { namingTheCall } from './called-function.ts';

/** Base class of all errors of @ringrun/nn. `code` is stable across versions. */
export class NnError extends RingrunError {
  /** Stable name of the kind of failure; docs/errors.md lists all of them. */
  declare readonly code:
    | 'ERR_SHAPE'
    | 'ERR_ARGUMENT'
    | 'ERR_BACKWARD'
    | 'ERR_EXECUTOR'
    | 'ERR_NONFINITE'
    | 'ERR_NOT_AWAITED'
    | 'ERR_OUTDATED';

  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- admits only the codes above
  constructor(code: NnError['code'], message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** Invalid shapes or dtypes of an operator's inputs. Thrown when the operator is called, before the graph runs. */
export class ShapeError extends NnError {
  constructor(message: string) {
    super('ERR_SHAPE', namingTheCall(message));
  }
}

/** An invalid argument, such as a negative learning rate. */
export class ArgumentError extends NnError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_ARGUMENT', namingTheCall(message), options);
  }
}
