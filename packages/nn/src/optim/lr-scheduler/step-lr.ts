import { requirePositiveInteger } from '../../nn/require.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireAtLeastZero } from '../require.ts';
import { LRScheduler } from './lr-scheduler.ts';

export interface StepLROptions {
  /** Factor; 0.1 unless given. */
  gamma?: number;
}

/** The rate times gamma every `stepSize` epochs (torch.optim.lr_scheduler.StepLR). */
export class StepLR extends LRScheduler {
  constructor(optimizer: Optimizer, stepSize: number, { gamma = 0.1 }: StepLROptions = {}) {
    requirePositiveInteger('StepLR', { stepSize });
    requireAtLeastZero('StepLR', { gamma });
    super(optimizer, ({ epoch, lr }) => (epoch === 0 || epoch % stepSize !== 0 ? lr : lr * gamma));
  }
}
