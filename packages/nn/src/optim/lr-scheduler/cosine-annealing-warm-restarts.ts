import { requirePositiveInteger, requireAtLeastZero } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './lr-scheduler.ts';
import { requireOptions, type OptionNames } from '../../checks/require-options.ts';

/** Options of {@link CosineAnnealingWarmRestarts}. */
export interface CosineAnnealingWarmRestartsOptions {
  /** Factor by which each period is longer than the previous one. Default: 1. */
  tMult?: number;
  /** Minimum learning rate, at the end of each period. Default: 0. */
  etaMin?: number;
}

const optionNames: OptionNames<CosineAnnealingWarmRestartsOptions> = { tMult: true, etaMin: true };

/**
 * Anneals the rate along half a cosine to etaMin in `t0` epochs, then restarts with a period that is `tMult` times as
 * long (torch.optim.lr_scheduler.CosineAnnealingWarmRestarts; Loshchilov and Hutter, 2016).
 */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  /** @param t0 epochs of the first period */
  constructor(optimizer: Optimizer, t0: number, options: CosineAnnealingWarmRestartsOptions = {}) {
    requireOptions('CosineAnnealingWarmRestarts', options, optionNames);
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
