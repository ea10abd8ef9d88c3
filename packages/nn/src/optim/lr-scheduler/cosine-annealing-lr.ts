import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { requirePositiveInteger, requireAtLeastZero } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './lr-scheduler.ts';

/** Options of {@link CosineAnnealingLR}. */
export interface CosineAnnealingLROptions {
  /** Learning rate after `tMax` epochs. Default: 0. */
  etaMin?: number;
}

/**
 * Anneals the rate along half a cosine to etaMin in `tMax` epochs, then back up, periodically
 * (torch.optim.lr_scheduler.CosineAnnealingLR, in its recursive form).
 */
export class CosineAnnealingLR extends LRScheduler {
  constructor(
    ...given: Call<
      [optimizer: Optimizer, TMax: number, options?: CosineAnnealingLROptions | undefined],
      'optim.lrScheduler.CosineAnnealingLR'
    >
  ) {
    const [optimizer, tMax, options] = arranged('optim.lrScheduler.CosineAnnealingLR', given);
    const { etaMin = 0 } = options;
    requirePositiveInteger('CosineAnnealingLR', { tMax });
    requireAtLeastZero('CosineAnnealingLR', { etaMin });
    const height = (epoch: number) => 1 + Math.cos((Math.PI * epoch) / tMax);
    super(optimizer, ({ epoch, lr, baseLr }) => {
      if (epoch === 0) return lr;
      // The previous epoch was at etaMin, where the recursion would divide by 0.
      if ((epoch - 1 - tMax) % (2 * tMax) === 0) {
        return lr + ((baseLr - etaMin) * (1 - Math.cos(Math.PI / tMax))) / 2;
      }
      return (height(epoch) / height(epoch - 1)) * (lr - etaMin) + etaMin;
    });
  }
}
