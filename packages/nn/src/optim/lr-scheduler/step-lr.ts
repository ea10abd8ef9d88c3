import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { requirePositiveInteger, requireAtLeastZero } from '../../checks/require-number.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './lr-scheduler.ts';

/** Options of {@link StepLR} and {@link MultiStepLR}. */
export interface StepLROptions {
  /** Factor. Default: 0.1. */
  gamma?: number;
}

/** Multiplies the rate by gamma every `stepSize` epochs (torch.optim.lr_scheduler.StepLR). */
export class StepLR extends LRScheduler {
  constructor(
    ...given: Call<
      [optimizer: Optimizer, stepSize: number, options?: StepLROptions | undefined],
      'optim.lrScheduler.StepLR'
    >
  ) {
    const [optimizer, stepSize, options] = arranged('optim.lrScheduler.StepLR', given);
    const { gamma = 0.1 } = options;
    requirePositiveInteger('StepLR', { stepSize });
    requireAtLeastZero('StepLR', { gamma });
    super(optimizer, ({ epoch, lr }) => (epoch === 0 || epoch % stepSize !== 0 ? lr : lr * gamma));
  }
}
