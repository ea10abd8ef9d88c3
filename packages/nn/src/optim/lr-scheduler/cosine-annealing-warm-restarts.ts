import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { requirePositiveInteger, requireAtLeastZero } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './lr-scheduler.ts';

/** Options of {@link CosineAnnealingWarmRestarts}. */
export interface CosineAnnealingWarmRestartsOptions {
  /** Factor by which each period is longer than the previous one. Default: 1. */
  tMult?: number;
  /** Minimum learning rate, at the end of each period. Default: 0. */
  etaMin?: number;
}

/**
 * Anneals the rate along half a cosine to etaMin in `t0` epochs, then restarts with a period that is `tMult` times as
 * long (torch.optim.lr_scheduler.CosineAnnealingWarmRestarts; Loshchilov and Hutter, 2016).
 */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  /** - `t0`: epochs of the first period */
  constructor(
    ...given: Call<
      [optimizer: Optimizer, T0: number, options?: CosineAnnealingWarmRestartsOptions | undefined],
      'optim.lrScheduler.CosineAnnealingWarmRestarts'
    >
  ) {
    const [optimizer, t0, options] = arranged('optim.lrScheduler.CosineAnnealingWarmRestarts', given);
    const { tMult = 1, etaMin = 0 } = options;
    requirePositiveInteger('CosineAnnealingWarmRestarts', { t0, tMult });
    requireAtLeastZero('CosineAnnealingWarmRestarts', { etaMin });
    super(optimizer, ({ epoch, baseLr }) => {
      let [position, period] = [epoch, t0];
      if (tMult === 1) position %= t0;
      else {
        while (position >= period) {
          position -= period;
          period *= tMult;
        }
      }
      return etaMin + ((baseLr - etaMin) * (1 + Math.cos((Math.PI * position) / period))) / 2;
    });
  }
}
