import { requirePositiveInteger, requireAtLeastZero } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './lr-scheduler.ts';
import { requireOptions, type OptionNames } from '../../checks/require-options.ts';

/** Options of {@link StepLR} and {@link MultiStepLR}. */
export interface StepLROptions {
  /** Factor. Default: 0.1. */
  gamma?: number;
}

export const gammaOption: OptionNames<StepLROptions> = { gamma: true };

/** Multiplies the rate by gamma every `stepSize` epochs (torch.optim.lr_scheduler.StepLR). */
export class StepLR extends LRScheduler {
  constructor(optimizer: Optimizer, stepSize: number, options: StepLROptions = {}) {
    requireOptions('StepLR', options, gammaOption);
    const { gamma = 0.1 } = options;
    requirePositiveInteger('StepLR', { stepSize });
    requireAtLeastZero('StepLR', { gamma });
    super(optimizer, ({ epoch, lr }) => (epoch === 0 || epoch % stepSize !== 0 ? lr : lr * gamma));
  }
}
