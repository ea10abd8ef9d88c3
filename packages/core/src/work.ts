/** A pending operation (torch.distributed.Work). */
export interface Work<Result = void> {
  /**
   * Resolves with the operation's result or rejects with its error. May be called any number of times. A failed
   * operation is not an unhandled rejection before `wait` is called.
   */
  wait(): Promise<Result>;
  /** True once the operation has completed or failed. Changes only while the event loop runs. */
  isCompleted(): boolean;
}

/** A `Work` over a promise. */
export class PromisedWork<Result> implements Work<Result> {
  readonly #result: Promise<Result>;
  #completed = false;

  constructor(result: Promise<Result>) {
    this.#result = result;
    const complete = () => {
      this.#completed = true;
    };
    result.then(complete, complete);
  }

  wait(): Promise<Result> {
    return this.#result;
  }

  isCompleted(): boolean {
    return this.#completed;
  }
}
