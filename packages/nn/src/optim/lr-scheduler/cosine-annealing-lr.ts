import { requirePositiveInteger } from '../../nn/require.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireAtLeastZero } from '../require.ts';
import { LRScheduler } from './lr-scheduler.ts';
import { requireOptions, type OptionNames } from '../../require-options.ts';

export interface CosineAnnealingLROptions {
  /** Rate after `tMax` epochs; 0 unless given. */
  etaMin?: number;
}

const optionNames: OptionNames<CosineAnnealingLROptions> = { etaMin: true };

/**
 * Half a cosine from the base rate down to etaMin in `tMax` epochs, then up again, and so on (torch.optim.lr_scheduler.CosineAnnealingLR), in the
 * recursive form: each rate follows from the one before.
 */
export class CosineAnnealingLR extends LRScheduler {
  constructor(optimizer: Optimizer, tMax: number, options: CosineAnnealingLROptions = {}) {
    requireOptions('CosineAnnealingLR', options, optionNames);
    const { etaMin = 0 } = options;
    requirePositiveInteger('CosineAnnealingLR', { tMax });
    requireAtLeastZero('CosineAnnealingLR', { etaMin });
    const height = (epoch: number) => 1 + Math.cos((Math.PI * epoch) / tMax);
    super(optimizer, ({ epoch, lr, baseLr }) => {
      if (epoch === 0) return lr;
      // The epoch before was at the bottom, where there is nothing to multiply.
      if ((epoch - 1 - tMax) % (2 * tMax) === 0) {
        return lr + ((baseLr - etaMin) * (1 - Math.cos(Math.PI / tMax))) / 2;
      }
      return (height(epoch) / height(epoch - 1)) * (lr - etaMin) + etaMin;
    });
  }
}
