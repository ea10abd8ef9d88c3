import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { requirePositiveInteger, requireFraction } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './lr-scheduler.ts';

/** Options of {@link LinearLR}. */
export interface LinearLROptions {
  /** Factor of the first epoch, above 0. Default: 1/3. */
  startFactor?: number;
  /** Factor from epoch `totalIters` on. Default: 1. */
  endFactor?: number;
  /** Epochs from startFactor to endFactor. Default: 5. */
  totalIters?: number;
}

/** Multiplies the rate by a factor that changes linearly, for warmup (torch.optim.lr_scheduler.LinearLR). */
export class LinearLR extends LRScheduler {
  constructor(
    ...given: Call<
      [optimizer: Optimizer, options?: LinearLROptions | undefined],
      'optim.lrScheduler.LinearLR'
    >
  ) {
    const [optimizer, options] = arranged('optim.lrScheduler.LinearLR', given);
    const { startFactor = 1 / 3, endFactor = 1, totalIters = 5 } = options;
    requireFraction('LinearLR', { startFactor, endFactor });
    if (startFactor === 0)
      throw new ArgumentError(
        'LinearLR: startFactor must be above 0, got 0: every rate is a multiple of the previous one.',
      );
    requirePositiveInteger('LinearLR', { totalIters });
    const rise = endFactor - startFactor;
    super(optimizer, ({ epoch, lr }) => {
      if (epoch === 0) return lr * startFactor;
      if (epoch > totalIters) return lr;
      // The factor of this epoch divided by the factor of the previous one.
      return lr * (1 + rise / (totalIters * startFactor + (epoch - 1) * rise));
    });
  }
}
