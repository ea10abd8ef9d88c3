/** What @ringrun/nn throws: a stable `code` to branch on, and a message that says what was given, what was expected and how to mend it. */
export class NnError extends Error {
  readonly code:
    | 'ERR_SHAPE'
    | 'ERR_ARGUMENT'
    | 'ERR_BACKWARD'
    | 'ERR_EXECUTOR'
    | 'ERR_NONFINITE'
    | 'ERR_NOT_AWAITED'
    | 'ERR_OUTDATED';

  constructor(code: NnError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Shapes or dtypes that an operator cannot take. Thrown where the graph is written, before anything runs. */
export class ShapeError extends NnError {
  constructor(message: string) {
    super('ERR_SHAPE', message);
  }
}

/** An argument that cannot work, such as a negative learning rate. */
export class ArgumentError extends NnError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_ARGUMENT', message, options);
  }
}
