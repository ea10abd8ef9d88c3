import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { LRScheduler, forEachGroup } from '../lr-scheduler/lr-scheduler.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireAtLeastZero } from '../../checks/require-number.ts';
import { requireOneOf } from '../../checks/require-one-of.ts';

/** Options of {@link SWALR}. */
export interface SWALROptions {
  /** Epochs until the rate is reached. Default: 10. */
  annealEpochs?: number;
  /** Interpolation between the rates. Default: 'cos'. */
  annealStrategy?: 'cos' | 'linear';
}

const strategies = {
  cos: (part: number) => (1 - Math.cos(Math.PI * part)) / 2,
  linear: (part: number) => part,
} as const;

/** Anneals the rate to a constant for weight averaging (torch.optim.swa_utils.SWALR). */
export class SWALR extends LRScheduler {
  /** - `swaLr`: the rate, for all groups or per group */
  constructor(
    ...given: Call<
      [optimizer: Optimizer, swaLr: number | readonly number[], options?: SWALROptions | undefined],
      'optim.swaUtils.SWALR'
    >
  ) {
    const [optimizer, swaLr, options] = arranged('optim.swaUtils.SWALR', given);
    const { annealEpochs = 10, annealStrategy = 'cos' } = options;
    requireAtLeastZero('SWALR', { annealEpochs });
    const rates = forEachGroup('SWALR', optimizer, swaLr);
    for (const rate of rates) requireAtLeastZero('SWALR', { swaLr: rate });
    requireOneOf('SWALR', 'annealStrategy', annealStrategy, Object.keys(strategies));
    /** The weight of swaLr after a number of epochs. */
    const weightAt = (epoch: number) =>
      strategies[annealStrategy](Math.max(0, Math.min(1, epoch / Math.max(1, annealEpochs))));
    super(optimizer, ({ epoch, lr, group }) => {
      const now = annealEpochs === 0 ? Math.max(1, epoch) : epoch;
      const [before, weight] = [weightAt(now - 1), weightAt(now)];
      // Recovers the initial rate of the annealing from the current one.
      const first = before === 1 ? rates[group] : (lr - before * rates[group]) / (1 - before);
      return rates[group] * weight + first * (1 - weight);
    });
  }
}
