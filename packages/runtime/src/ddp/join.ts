import { RingrunError } from '@ringrun/core';
import type { DistributedModule, OptionNames, ProcessGroup } from '@ringrun/core';
import type { Reducer } from './reducer.ts';
import { equalWeights, SampleWeights } from './sample-weights.ts';

/** Options of {@link DistributedDataParallel.join}. */
export interface JoinOptions {
  /**
   * Divide gradients by the number of all ranks, including those that have run out of batches (torch's
   * divide_by_initial_world_size, whose default is true). Default: `false`: gradients are averaged over the
   * samples of the ranks that still train.
   */
  divideByInitialWorldSize?: boolean;
  /**
   * Called on a rank that has run out of batches, after each step of the others, with their averaged
   * gradients in its parameters. Use `follow: () => optimizer.step()` to keep optimizer state such as
   * momentum identical. Without it, only parameters and buffers are identical at the end.
   */
  follow?: () => void | Promise<void>;
}

export const joinOptions: OptionNames<JoinOptions> = { divideByInitialWorldSize: true, follow: true };

/** One rank's part in training with uneven inputs. */
export class Join {
  readonly #weights: SampleWeights;
  readonly #module: DistributedModule;
  readonly #group: ProcessGroup;
  readonly #reducer: Reducer;
  #trains = true;

  constructor(group: ProcessGroup, reducer: Reducer, module: DistributedModule) {
    this.#weights = new SampleWeights(group);
    this.#module = module;
    this.#group = group;
    this.#reducer = reducer;
  }

  /** Whether this rank still has batches. */
  get trains(): boolean {
    return this.#trains;
  }

  /** Adds the samples of a forward call to the step that it belongs to. */
  addSamples(samples: number): void {
    this.#afterPending(() => {
      this.#weights.addSamples(samples);
    })?.catch(() => undefined);
  }

  /** Sets the number of samples of the next step. */
  setSamples(samples: number): void {
    this.#afterPending(() => {
      this.#weights.setSamples(samples);
    })?.catch(() => undefined);
  }

  /** Steps that are not awaited average later than they are called. The steps that follow a failed one reject. */
  #afterPending(call: () => void): Promise<void> | undefined {
    if (this.#module.afterPending) return this.#module.afterPending(call);
    call();
    return undefined;
  }

  /**
   * Runs this rank's loop, then follows the steps of the others. Resolves with the loop's result and the rank
   * whose state is to be broadcast (undefined if all ranks took the same number of steps).
   */
  async trainThenFollow<Result>(
    run: () => Promise<Result>,
    { divideByInitialWorldSize = false, follow }: JoinOptions,
  ): Promise<[result: Result, furthest: number | undefined]> {
    this.#reducer.weigher = divideByInitialWorldSize ? equalWeights : this.#weights;
    try {
      const before = this.#reducer.steps;
      const result = await run();
      await this.#afterPending(() => undefined);
      const own = this.#reducer.steps - before;
      this.#trains = false;
      while (await this.#reducer.followStep()) await follow?.();
      return [result, await rankWithMost(this.#group, own)];
    } finally {
      this.#reducer.weigher = undefined;
    }
  }

  /** Returns the first rank that still trains. A collective. */
  async firstTrainingRank(): Promise<number> {
    return (await rankWithMost(this.#group, this.#trains ? 1 : 0)) ?? 0;
  }
}

/**
 * A rank that has run out of batches takes part in averaging gradients, but not in collectives of a forward
 * call.
 */
export function requireNoCollectives(module: DistributedModule): void {
  const name = [...(module.namedCollectives?.() ?? [])].at(0);
  if (name === undefined) return;
  throw new RingrunError(
    'ERR_JOIN_COLLECTIVES',
    `join: ${name === '' ? 'the model' : name} is a collective of all ranks, as SyncBatchNorm is, and a rank that has run out of batches cannot take part. ` +
      'Give every rank the same number of batches (DistributedSampler does), or use BatchNorm.',
  );
}

/** The first rank with the largest number; undefined if all numbers are equal. A collective. */
async function rankWithMost(group: ProcessGroup, own: number): Promise<number | undefined> {
  const numbers = new Float64Array(group.size);
  await group.allGather(numbers, Float64Array.of(own));
  const most = Math.max(...numbers);
  return numbers.every((number) => number === most) ? undefined : numbers.indexOf(most);
}
