import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import type { Optimizer } from '../optimizer.ts';
import { forEachGroup, LRScheduler } from './lr-scheduler.ts';

/** Sets the rate to baseLr · lrLambda(epoch) (torch.optim.lr_scheduler.LambdaLR). */
export class LambdaLR extends LRScheduler {
  /** - `lrLambda`: returns the factor of an epoch; one function for all groups, or one per group */
  constructor(
    ...given: Call<
      [optimizer: Optimizer, lrLambda: ((epoch: number) => number) | readonly ((epoch: number) => number)[]],
      'optim.lrScheduler.LambdaLR'
    >
  ) {
    const [optimizer, lrLambda] = arranged('optim.lrScheduler.LambdaLR', given);
    const factors = forEachGroup('LambdaLR', optimizer, lrLambda);
    super(optimizer, ({ epoch, baseLr, group }) => baseLr * factors[group](epoch));
  }
}
