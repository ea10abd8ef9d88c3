import type { DistributedModule, ProcessGroup } from '@ringrun/core';
import { verifyIdentical, verifyIdenticalSync } from './consistency.ts';
import { LinkWatch } from './link-watch.ts';

/** How a check runs. */
export interface CheckedStep {
  /** Runs collectives, which may be repeated in another group. */
  retry: (run: (group: ProcessGroup) => Promise<unknown>) => Promise<unknown>;
  /** Whether the parameters of this rank are compared. A rank that has run out of batches has those of an earlier step. */
  counts: boolean;
  /** Milliseconds for which this rank has waited for gradients in all steps. */
  waitedMs: number;
}

/** What DistributedDataParallel checks between some steps: that the parameters are identical, and that links are not slow. */
export class StepChecks {
  readonly #module: DistributedModule;
  readonly #verifyEvery: number;
  readonly #links: LinkWatch | undefined;

  /**
   * @param verifyEvery steps between two comparisons of the parameters; 0 for none
   * @param warn prints a line, passed without its newline
   */
  constructor(module: DistributedModule, verifyEvery: number, warn: (line: string) => void) {
    this.#module = module;
    this.#verifyEvery = verifyEvery;
    // The measurement is asynchronous.
    this.#links = module.synchronous ? undefined : new LinkWatch(warn);
  }

  /** Whether something is checked after a step, from 1, before the optimizer changes the parameters. The same on all ranks. */
  isDue(step: number, group: ProcessGroup): boolean {
    return this.#comparesParameters(step) || this.#links?.isDue(step, group) === true;
  }

  /** A collective. */
  async run(step: number, { retry, counts, waitedMs }: CheckedStep): Promise<void> {
    if (this.#comparesParameters(step)) {
      await retry((group) => verifyIdentical(this.#parameters, group, { counts, step }));
    }
    await retry(async (group) => {
      if (this.#links?.isDue(step, group)) await this.#links.check(group, waitedMs);
    });
  }

  /** Of models that cannot await promises. */
  runSync(step: number, group: ProcessGroup): void {
    if (this.#comparesParameters(step)) verifyIdenticalSync(this.#parameters, group, { step });
  }

  #comparesParameters(step: number): boolean {
    return this.#verifyEvery > 0 && step % this.#verifyEvery === 0;
  }

  get #parameters() {
    return [...this.#module.namedParameters()];
  }
}
