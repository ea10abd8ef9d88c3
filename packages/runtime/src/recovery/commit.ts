import { prepareAllReduce } from '@ringrun/collectives';
import { ReduceOp } from '@ringrun/core';
import type { ProcessGroup, StartableOperation } from '@ringrun/core';

/**
 * The all-reduce that ends a transaction in one group. No rank completes it before all ranks have completed the collectives
 * before it. It also informs all ranks whether one of them requests the next group.
 */
export class Commit {
  readonly #group: ProcessGroup;
  /** One number: above 0 if a rank wants the next group. */
  readonly #wish: Float32Array;

  /** A collective. */
  constructor(group: ProcessGroup) {
    this.#group = group;
    this.#wish = group.allocateSync('float32', 1);
  }

  /** Resolves with whether a rank wants the next group. */
  async run(wantsChange: boolean): Promise<boolean> {
    this.#wish[0] = Number(wantsChange);
    await this.#group.allReduce(this.#wish, { op: ReduceOp.MAX });
    return this.#wish[0] > 0;
  }

  /** The same all-reduce, to be started without JavaScript. Undefined if only `run` can start it now. */
  prepare(wantsChange: boolean): StartableOperation | undefined {
    this.#wish[0] = Number(wantsChange);
    return prepareAllReduce(this.#group, this.#wish, ReduceOp.MAX);
  }

  /** Resolves like `run` when the all-reduce of `prepare`, which was started, has ended. */
  async end(started: StartableOperation): Promise<boolean> {
    await started.ended();
    return this.#wish[0] > 0;
  }
}
