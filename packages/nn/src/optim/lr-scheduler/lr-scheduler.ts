import { aCount, aFiniteNumber, aListOf, requireFields } from '../require-state.ts';
import { describeValue } from '../../checks/describe-value.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { Optimizer } from '../optimizer.ts';

/** Input of a schedule: one parameter group at one epoch. */
export interface Point {
  /** 0 when the scheduler is created; incremented by each `step`. */
  readonly epoch: number;
  /** Current learning rate of the group. */
  readonly lr: number;
  /** Learning rate of the group before any scheduler. */
  readonly baseLr: number;
  /** Index of the group. */
  readonly group: number;
}

/** Returns a group's value at a point. Schedules derived from `lr` (not `baseLr`) can be chained on one optimizer. */
export type Schedule = (point: Point) => number;

/** Progress of a scheduler, without its settings. */
export interface LRSchedulerState {
  /** The scheduler's epoch: 0 after the constructor, one more after each `step`. */
  lastEpoch: number;
  /** Learning rate of each group before any scheduler. */
  baseLrs: number[];
  /** Learning rate of each group at `lastEpoch`. */
  lastLr: number[];
}

/**
 * Sets the learning rates of an optimizer's groups (torch.optim.lr_scheduler._LRScheduler): in the constructor, and at
 * each `step`, which is called after `optimizer.step()`.
 *
 * To resume, create optimizer and scheduler as before, then load the state dicts of both: the optimizer's contains the rates.
 */
export abstract class LRScheduler {
  /** The optimizer whose learning rates it sets. */
  readonly optimizer: Optimizer;
  readonly #schedule: Schedule;
  readonly #momentum: Schedule | undefined;
  #baseLrs: readonly number[];
  #lastEpoch = -1;
  #lastLr: readonly number[] = [];

  /** @param momentum schedule of the momentum, or of the first beta, if scheduled too */
  constructor(optimizer: Optimizer, schedule: Schedule, momentum?: Schedule) {
    requireOptimizer(new.target.name, optimizer);
    this.optimizer = optimizer;
    this.#schedule = schedule;
    this.#momentum = momentum;
    for (const group of optimizer.paramGroups) group.initialLr ??= group.lr;
    this.#baseLrs = optimizer.paramGroups.map(({ initialLr }) => initialLr!);
    this.step();
  }

  /** Advances to the next epoch, or to the next batch if the schedule counts batches. */
  step(): void {
    const { paramGroups } = this.optimizer;
    this.#goTo(
      this.#lastEpoch + 1,
      this.#baseLrs.map((_, group) => paramGroups[group].lr),
    );
  }

  /** Restarts the schedule from the rates that the groups had before any scheduler. */
  startOver(): void {
    this.#goTo(0, this.#baseLrs);
  }

  /** Learning rates set by the last `step`, one per group. */
  getLastLr(): number[] {
    return [...this.#lastLr];
  }

  /** Returns a copy of the progress, for `loadStateDict`. */
  stateDict(): LRSchedulerState {
    return { lastEpoch: this.#lastEpoch, baseLrs: [...this.#baseLrs], lastLr: [...this.#lastLr] };
  }

  /**
   * Restores a state from `stateDict`. Does not change the optimizer's rates.
   *
   * @throws ArgumentError if the number of groups differs; nothing is changed in this case
   */
  loadStateDict(state: LRSchedulerState): void {
    requireState(this.constructor.name, state, this.#baseLrs.length);
    this.#lastEpoch = state.lastEpoch;
    this.#baseLrs = [...state.baseLrs];
    this.#lastLr = [...state.lastLr];
  }

  #goTo(epoch: number, rates: readonly number[]): void {
    const points = rates.map((lr, group) => ({ epoch, lr, baseLr: this.#baseLrs[group], group }));
    const next = points.map((point) => this.#schedule(point));
    const momenta = points.map((point) => this.#momentum?.(point));
    const wrong = next.findIndex((lr) => !Number.isFinite(lr));
    if (wrong !== -1) {
      throw new ArgumentError(
        `${this.constructor.name}: learning rates must be finite, got ${next[wrong]} for group ${wrong} at step ${epoch}.`,
      );
    }
    for (const [group, lr] of next.entries()) this.optimizer.paramGroups[group].lr = lr;
    for (const [group, momentum] of momenta.entries()) setMomentum(this.optimizer, group, momentum);
    this.#lastEpoch = epoch;
    this.#lastLr = next;
  }
}

export function requireOptimizer(where: string, optimizer: unknown): void {
  if (!(optimizer instanceof Optimizer))
    throw new ArgumentError(`${where}: expected an Optimizer as the first argument.`);
}

/** Expands one value for all groups, or checks a list of one value per group. */
export function forEachGroup<T>(where: string, optimizer: Optimizer, given: T | readonly T[]): readonly T[] {
  requireOptimizer(where, optimizer);
  const groups = optimizer.paramGroups.length;
  if (!Array.isArray(given)) return Array<T>(groups).fill(given as T);
  if (given.length !== groups) {
    throw new ArgumentError(
      `${where}: expected one value or one for each of the ${groups} groups, got ${given.length}.`,
    );
  }
  return given as readonly T[];
}

/** True if an optimizer has a momentum or betas. */
export function hasMomentum({ defaults }: Optimizer): boolean {
  return 'momentum' in defaults || 'betas' in defaults;
}

function setMomentum({ paramGroups }: Optimizer, position: number, momentum: number | undefined): void {
  if (momentum === undefined) return;
  const group = paramGroups[position] as { lr: number; momentum?: number; betas?: readonly number[] };
  if (group.betas === undefined) group.momentum = momentum;
  else group.betas = [momentum, ...group.betas.slice(1)];
}

function requireState(name: string, state: LRSchedulerState | null | undefined, groups: number): void {
  const lists = [state?.baseLrs, state?.lastLr];
  const fits = lists.every((list) => Array.isArray(list) && list.length === groups);
  if (!fits || !Number.isInteger(state?.lastEpoch)) {
    throw new ArgumentError(
      `${name}: expected a state { lastEpoch, baseLrs, lastLr } with a rate for each of the ${groups} groups, ` +
        `got ${describeValue(state)}.`,
    );
  }
  const rates = aListOf(aFiniteNumber, groups);
  requireFields(name, state, { lastEpoch: aCount, baseLrs: rates, lastLr: rates });
}
