import { ArgumentError } from '../../errors.ts';
import { Optimizer } from '../optimizer.ts';

/** A group of the optimizer when its next learning rate is asked for. */
export interface Point {
  /** 0 when the scheduler is made, one more after each `step`. */
  readonly epoch: number;
  /** The rate that the group has now. */
  readonly lr: number;
  /** The rate that the group had before any scheduler. */
  readonly baseLr: number;
  /** Position of the group. */
  readonly group: number;
}

/** A number of a group at a point. A schedule that goes on from `lr` works together with others on one optimizer. */
export type Schedule = (point: Point) => number;

/** Where a scheduler is; its settings are not part of it. */
export interface LRSchedulerState {
  lastEpoch: number;
  baseLrs: number[];
  lastLr: number[];
}

/**
 * Sets the learning rates of an optimizer's groups (torch.optim.lr_scheduler._LRScheduler): the first ones at once, the next ones at each
 * `step`, which follows `optimizer.step()`.
 *
 * To resume, make optimizer and scheduler as before and then load the state dicts of both: the rates are in the optimizer's.
 */
export abstract class LRScheduler {
  readonly optimizer: Optimizer;
  readonly #schedule: Schedule;
  readonly #momentum: Schedule | undefined;
  #baseLrs: readonly number[];
  #lastEpoch = -1;
  #lastLr: readonly number[] = [];

  /** @param momentum the momentum of a group, or the first of its betas, where that is scheduled too */
  constructor(optimizer: Optimizer, schedule: Schedule, momentum?: Schedule) {
    requireOptimizer(new.target.name, optimizer);
    this.optimizer = optimizer;
    this.#schedule = schedule;
    this.#momentum = momentum;
    for (const group of optimizer.paramGroups) group.initialLr ??= group.lr;
    this.#baseLrs = optimizer.paramGroups.map(({ initialLr }) => initialLr!);
    this.step();
  }

  /** Goes on to the next epoch, or batch, whichever the schedule counts. */
  step(): void {
    const { paramGroups } = this.optimizer;
    this.#goTo(
      this.#lastEpoch + 1,
      this.#baseLrs.map((_, group) => paramGroups[group].lr),
    );
  }

  /** Begins again, as if the groups still had the rates that they had before any scheduler. */
  startOver(): void {
    this.#goTo(0, this.#baseLrs);
  }

  /** The rate that the last `step` gave each group. */
  getLastLr(): number[] {
    return [...this.#lastLr];
  }

  stateDict(): LRSchedulerState {
    return { lastEpoch: this.#lastEpoch, baseLrs: [...this.#baseLrs], lastLr: [...this.#lastLr] };
  }

  /**
   * Goes on where `stateDict` was taken. The optimizer's rates stay as they are.
   *
   * @throws ArgumentError when it is of another number of groups; nothing is changed then
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
        `${this.constructor.name}: gives group ${wrong} a learning rate of ${next[wrong]} at step ${epoch}.`,
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
    throw new ArgumentError(`${where}: its first argument is an Optimizer.`);
}

/** One value for each group: a list of that length, or one for all. */
export function forEachGroup<T>(where: string, optimizer: Optimizer, given: T | readonly T[]): readonly T[] {
  requireOptimizer(where, optimizer);
  const groups = optimizer.paramGroups.length;
  if (!Array.isArray(given)) return Array<T>(groups).fill(given as T);
  if (given.length !== groups) {
    throw new ArgumentError(
      `${where}: takes one value or ${groups}, one for each group, given ${given.length}.`,
    );
  }
  return given as readonly T[];
}

/** Whether an optimizer has a momentum, or betas whose first is one. */
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
      `${name}: its state is { lastEpoch, baseLrs, lastLr } with ${groups} rates in each list, one for each group of the optimizer; ` +
        `given ${JSON.stringify(state)}.`,
    );
  }
}
