import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireAtLeastZero } from '../../checks/require-number.ts';
import { LRScheduler } from './lr-scheduler.ts';

/** Multiplies the rate by gamma at every epoch (torch.optim.lr_scheduler.ExponentialLR). */
export class ExponentialLR extends LRScheduler {
  constructor(...given: Call<[optimizer: Optimizer, gamma: number], 'optim.lrScheduler.ExponentialLR'>) {
    const [optimizer, gamma] = arranged('optim.lrScheduler.ExponentialLR', given);
    requireAtLeastZero('ExponentialLR', { gamma });
    super(optimizer, ({ epoch, lr }) => (epoch === 0 ? lr : lr * gamma));
  }
}
