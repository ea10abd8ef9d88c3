/** An operation that was started and not waited for (torch.distributed.Work). */
export interface Work<Result = void> {
  /**
   * Resolves with the operation's result, rejects with its error. May be called any number of times. An error is kept for it: a work that failed and that nobody
   * has waited for yet is no unhandled rejection.
   */
  wait(): Promise<Result>;
  /** Whether the operation is over, well or with an error. Changes only while the event loop runs. */
  isCompleted(): boolean;
}

/** The work whose result is that of a promise. */
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
