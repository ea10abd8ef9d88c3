import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { aCount } from '../require-state.ts';
import { describeValue } from '../../checks/describe-value.ts';
import { ArgumentError } from '../../errors/errors.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler, requireOptimizer, type LRSchedulerState } from './lr-scheduler.ts';
import { requireMilestones } from './multi-step-lr.ts';

/** Progress of a {@link SequentialLR}, without settings. */
export interface SequentialLRState {
  /** Number of `step` calls. */
  lastEpoch: number;
  /** The states of the schedulers, in their order. */
  schedulers: LRSchedulerState[];
}

/**
 * Runs schedulers one after another (torch.optim.lr_scheduler.SequentialLR): the second starts at epoch `milestones[0]`,
 * from the groups' initial rates, and so on.
 */
export class SequentialLR {
  /** The optimizer whose learning rates it sets. */
  readonly optimizer: Optimizer;
  readonly #schedulers: readonly LRScheduler[];
  readonly #milestones: readonly number[];
  #lastEpoch = 0;

  /** - `milestones`: epochs at which the next scheduler starts, one fewer than schedulers */
  constructor(
    ...given: Call<
      [optimizer: Optimizer, schedulers: readonly LRScheduler[], milestones: readonly number[]],
      'optim.lrScheduler.SequentialLR'
    >
  ) {
    const [optimizer, schedulers, milestones] = arranged('optim.lrScheduler.SequentialLR', given);
    requireOptimizer('SequentialLR', optimizer);
    const stranger = schedulers.findIndex(
      (scheduler) => !(scheduler instanceof LRScheduler) || scheduler.optimizer !== optimizer,
    );
    if (stranger !== -1) {
      throw new ArgumentError(
        `SequentialLR: expected schedulers of one optimizer, but scheduler ${stranger} has another.`,
      );
    }
    if (schedulers.length === 0 || milestones.length !== schedulers.length - 1) {
      throw new ArgumentError(
        `SequentialLR: expected one milestone fewer than schedulers, got ${schedulers.length} schedulers and ${milestones.length} milestones.`,
      );
    }
    requireMilestones('SequentialLR', milestones, 1);
    this.optimizer = optimizer;
    this.#schedulers = [...schedulers];
    this.#milestones = [...milestones];
    this.#current().startOver();
  }

  /** Advances the current scheduler to the next epoch, or starts the next scheduler at its milestone. */
  step(): void {
    this.#lastEpoch += 1;
    if (this.#milestones.includes(this.#lastEpoch)) this.#current().startOver();
    else this.#current().step();
  }

  /** Learning rates set by the last `step`, one per group. */
  getLastLr(): number[] {
    return this.#current().getLastLr();
  }

  /** Returns a copy of the progress, for `loadStateDict`. */
  stateDict(): SequentialLRState {
    return {
      lastEpoch: this.#lastEpoch,
      schedulers: this.#schedulers.map((scheduler) => scheduler.stateDict()),
    };
  }

  /** @throws ArgumentError if the number of schedulers or groups differs; nothing is changed in this case */
  loadStateDict(state: SequentialLRState): void {
    requireState(state, this.#schedulers.length);
    const before = this.#schedulers.map((scheduler) => scheduler.stateDict());
    try {
      this.#load(state.schedulers);
    } catch (error) {
      this.#load(before);
      throw error;
    }
    this.#lastEpoch = state.lastEpoch;
  }

  #load(states: readonly LRSchedulerState[]): void {
    for (const [position, scheduler] of this.#schedulers.entries()) scheduler.loadStateDict(states[position]);
  }

  #current(): LRScheduler {
    return this.#schedulers[this.#milestones.filter((milestone) => milestone <= this.#lastEpoch).length];
  }
}

function requireState(state: SequentialLRState | null | undefined, count: number): void {
  const schedulers: unknown = state?.schedulers;
  if (aCount.fits(state?.lastEpoch) && Array.isArray(schedulers) && schedulers.length === count) return;
  throw new ArgumentError(
    `SequentialLR: expected a state { lastEpoch, schedulers } of ${count} schedulers, got ${describeValue(state)}.`,
  );
}
