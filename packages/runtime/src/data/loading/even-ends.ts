import { InvalidArgumentError } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';

/** A rank's statement before each batch of an iteration. */
interface Own {
  /** Whether it has a batch that it has not delivered in this epoch. */
  hasNew: boolean;
  /** Whether its share has no batch at all. */
  isEmpty: boolean;
}

/** Ranks agree before each batch whether to continue. */
export class EvenEnds {
  readonly #group: ProcessGroup;
  readonly #dropLast: boolean;
  readonly #epoch: number;
  #batches = 0;

  /** @param group a separate group, so that its collectives cannot interleave with those of the training */
  constructor(group: ProcessGroup, { dropLast, epoch }: { dropLast: boolean; epoch: number }) {
    this.#group = group;
    this.#dropLast = dropLast;
    this.#epoch = epoch;
  }

  /** A collective. Whether all ranks continue: if any has a new batch, or with dropLast, if all have. */
  async continues({ hasNew, isEmpty }: Own): Promise<boolean> {
    const own = Float64Array.of(hasNew ? 1 : 0, isEmpty ? 1 : 0, this.#epoch, this.#batches);
    const all = new Float64Array(own.length * this.#group.size);
    await this.#group.allGather(all, own);
    this.#batches += 1;
    const ranks = Array.from({ length: this.#group.size }, (_, rank) => all.subarray(4 * rank, 4 * rank + 4));
    this.#requireOneLoop(ranks, own);
    const some = this.#dropLast ? ranks.every(([has]) => has === 1) : ranks.some(([has]) => has === 1);
    const empty = ranks.findIndex(([, isRankEmpty]) => isRankEmpty === 1);
    if (!some || empty < 0 || this.#dropLast) return some;
    throw new InvalidArgumentError(
      `DataLoader: expected samples in the share of every rank, got none for rank ${empty}, which has no batch to repeat. ` +
        'Divide the dataset into more parts, or pass evenDivisible: false and train under join.',
    );
  }

  #requireOneLoop(ranks: readonly Float64Array[], own: Float64Array): void {
    const other = ranks.findIndex(([, , epoch, batch]) => epoch !== own[2] || batch !== own[3]);
    if (other < 0) return;
    const [, , epoch, batch] = ranks[other];
    throw new InvalidArgumentError(
      `DataLoader: expected all ranks at batch ${own[3]} of epoch ${own[2]}, got rank ${other} at batch ${batch} of epoch ${epoch}. ` +
        'Leave the loop on all ranks at the same step, or pass evenDivisible: false.',
    );
  }
}

/** The batches of a share from a position on, and the number of them that are still to be skipped. */
export interface OpenShare<Batch> {
  batches: AsyncIterable<Batch>;
  plan: { readonly skips: number };
}

/**
 * The batches of a share, repeated after their end until all ranks have reached the end of their shares.
 *
 * @param open begins the share, and skips the batches that were delivered before resuming
 */
export async function* evenBatches<Batch>(
  open: (skips: number) => OpenShare<Batch>,
  skips: number,
  ends: EvenEnds,
): AsyncGenerator<Batch, void> {
  let left = skips;
  let [hasNew, isEmpty, isAgreed] = [true, true, false];
  for (;;) {
    const { batches, plan } = open(left);
    for await (const batch of batches) {
      isEmpty = false;
      if (!isAgreed && !(await ends.continues({ hasNew, isEmpty }))) return;
      isAgreed = false;
      yield batch;
    }
    hasNew = false;
    const skipped = left - plan.skips;
    if (skipped > 0) isEmpty = false;
    left = skipped > 0 ? plan.skips : 0;
    if (left > 0) continue;
    if (!(await ends.continues({ hasNew, isEmpty }))) return;
    isAgreed = true;
  }
}
