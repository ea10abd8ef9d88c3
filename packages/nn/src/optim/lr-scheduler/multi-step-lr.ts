import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { ArgumentError } from '../../errors/errors.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireAtLeastZero } from '../../checks/require-number.ts';
import { LRScheduler } from './lr-scheduler.ts';
import { type StepLROptions } from './step-lr.ts';

/** Multiplies the rate by gamma at each milestone (torch.optim.lr_scheduler.MultiStepLR). */
export class MultiStepLR extends LRScheduler {
  /** - `milestones`: epochs; a repeated epoch counts twice */
  constructor(
    ...given: Call<
      [optimizer: Optimizer, milestones: readonly number[], options?: StepLROptions | undefined],
      'optim.lrScheduler.MultiStepLR'
    >
  ) {
    const [optimizer, milestones, options] = arranged('optim.lrScheduler.MultiStepLR', given);
    const { gamma = 0.1 } = options;
    requireMilestones('MultiStepLR', milestones);
    requireAtLeastZero('MultiStepLR', { gamma });
    super(optimizer, ({ epoch, lr }) => lr * gamma ** milestones.filter((at) => at === epoch).length);
  }
}

/** Rejects milestones that are not epochs from `first` in ascending order. */
export function requireMilestones(where: string, milestones: readonly number[], first = 0): void {
  const ascend = milestones.every(
    (at, i) => Number.isInteger(at) && at >= (i === 0 ? first : milestones[i - 1]),
  );
  if (!ascend) {
    throw new ArgumentError(
      `${where}: milestones must be epochs from ${first} in ascending order, got [${milestones.join()}].`,
    );
  }
}
