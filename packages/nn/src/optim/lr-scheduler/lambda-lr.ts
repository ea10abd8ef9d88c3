import type { Optimizer } from '../optimizer.ts';
import { forEachGroup, LRScheduler } from './lr-scheduler.ts';

/** baseLr · lrLambda(epoch) (torch.optim.lr_scheduler.LambdaLR). */
export class LambdaLR extends LRScheduler {
  /** @param lrLambda the factor at an epoch; one function for all groups, or one for each */
  constructor(
    optimizer: Optimizer,
    lrLambda: ((epoch: number) => number) | readonly ((epoch: number) => number)[],
  ) {
    const factors = forEachGroup('LambdaLR', optimizer, lrLambda);
    super(optimizer, ({ epoch, baseLr, group }) => baseLr * factors[group](epoch));
  }
}
