import { ArgumentError } from '../../errors.ts';
import { requirePositiveInteger } from '../../nn/require.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireFraction } from '../require.ts';
import { LRScheduler } from './lr-scheduler.ts';
import { requireOptions, type OptionNames } from '../../require-options.ts';

export interface LinearLROptions {
  /** Factor of the first epoch, above 0; 1/3 unless given. */
  startFactor?: number;
  /** Factor of epoch `totalIters` and all after it; 1 unless given. */
  endFactor?: number;
  /** Epochs from one to the other; 5 unless given. */
  totalIters?: number;
}

const optionNames: OptionNames<LinearLROptions> = { startFactor: true, endFactor: true, totalIters: true };

/** The rate times a factor that goes linearly from one number to another: a warm-up (torch.optim.lr_scheduler.LinearLR). */
export class LinearLR extends LRScheduler {
  constructor(optimizer: Optimizer, options: LinearLROptions = {}) {
    requireOptions('LinearLR', options, optionNames);
    const { startFactor = 1 / 3, endFactor = 1, totalIters = 5 } = options;
    requireFraction('LinearLR', { startFactor, endFactor });
    if (startFactor === 0)
      throw new ArgumentError('LinearLR: startFactor must be above 0, where every next rate is a multiple.');
    requirePositiveInteger('LinearLR', { totalIters });
    const rise = endFactor - startFactor;
    super(optimizer, ({ epoch, lr }) => {
      if (epoch === 0) return lr * startFactor;
      if (epoch > totalIters) return lr;
      // The factor of this epoch over that of the last.
      return lr * (1 + rise / (totalIters * startFactor + (epoch - 1) * rise));
    });
  }
}
