import { RingrunError, type OptionNames, type ProcessGroup } from '@ringrun/collectives';
import type { DistributedModule } from './distributed-module.ts';
import type { Reducer } from './reducer.ts';
import { equalWeights, SampleWeights } from './sample-weights.ts';

export interface JoinOptions {
  /**
   * Whether gradients are divided by the number of all ranks, those that have run out included (torch's divide_by_initial_world_size, true there); false unless
   * given: they are averaged over the samples of the ranks that still train.
   */
  divideByInitialWorldSize?: boolean;
  /**
   * Called on a rank that has run out, after each step of the others, with their gradients in its parameters. Optimizers with a memory, such as a momentum,
   * need it to stay equal: `follow: () => optimizer.step()`. Without it only parameters and buffers are equal at the end.
   */
  follow?: () => void | Promise<void>;
}

export const joinOptions: OptionNames<JoinOptions> = { divideByInitialWorldSize: true, follow: true };

/** One rank's part in training with uneven inputs. */
export class Join {
  readonly weights: SampleWeights;
  readonly #group: ProcessGroup;
  readonly #reducer: Reducer;
  #trains = true;

  constructor(group: ProcessGroup, reducer: Reducer) {
    this.weights = new SampleWeights(group);
    this.#group = group;
    this.#reducer = reducer;
  }

  /** Whether this rank still has batches. */
  get trains(): boolean {
    return this.#trains;
  }

  /** Runs this rank's loop, then follows the others to the end. Resolves with what the loop has given, and the rank whose state all are to take. */
  async trainThenFollow<Result>(
    run: () => Promise<Result>,
    { divideByInitialWorldSize = false, follow }: JoinOptions,
  ): Promise<[result: Result, furthest: number | undefined]> {
    this.#reducer.weigher = divideByInitialWorldSize ? equalWeights : this.weights;
    try {
      const before = this.#reducer.steps;
      const result = await run();
      const own = this.#reducer.steps - before;
      this.#trains = false;
      while (await this.#reducer.followStep()) await follow?.();
      return [result, await rankWithMost(this.#group, own)];
    } finally {
      this.#reducer.weigher = undefined;
    }
  }

  /** A collective of a step. */
  async firstThatTrains(): Promise<number> {
    return (await rankWithMost(this.#group, this.#trains ? 1 : 0)) ?? 0;
  }
}

/** A rank that has run out follows averages of gradients, and knows nothing of what others exchange in a forward call. */
export function refuseCollectives(module: DistributedModule): void {
  const name = [...(module.namedCollectives?.() ?? [])].at(0);
  if (name === undefined) return;
  throw new RingrunError(
    'ERR_JOIN_COLLECTIVES',
    `join: ${name === '' ? 'the model' : name} computes with all ranks together, as SyncBatchNorm does, and a rank that has run out of batches could not take part. ` +
      'Give every rank as many batches (DistributedSampler does), or train with plain batch normalization.',
  );
}

/** The first rank with a number that no other's exceeds; undefined where all numbers are equal. A collective. */
async function rankWithMost(group: ProcessGroup, own: number): Promise<number | undefined> {
  const numbers = new Float64Array(group.size);
  await group.allGather(numbers, Float64Array.of(own));
  const most = Math.max(...numbers);
  return numbers.every((number) => number === most) ? undefined : numbers.indexOf(most);
}
