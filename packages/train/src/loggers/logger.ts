import { getRank, isInitialized } from 'ringrun';

/** Settings of a training, which may be nested. */
export type Hyperparameters = Readonly<Record<string, unknown>>;

/** How a training ended. */
export type Outcome = 'finished' | 'failed' | 'preempted';

/**
 * Receives the results of a training (Lightning: Logger). `Trainer` calls it on rank 0. Its methods do not throw because a
 * result cannot be written, so that a full disk or a server that is down never ends a training.
 *
 * To write one for another service, extend {@link RankZeroLogger}.
 */
export interface Logger {
  /** Records the settings of the training. */
  logHyperparameters(hyperparameters: Hyperparameters): void;
  /**
   * Records values by name, such as `{ 'val/accuracy': 0.97 }`.
   *
   * @param step number of optimizer steps before, from 0
   */
  logMetrics(metrics: Readonly<Record<string, number>>, step: number): void;
  /** Resolves when everything is written, or lost. Default of `outcome`: 'finished'. */
  close(outcome?: Outcome): Promise<void>;
  /** What a checkpoint keeps, such as the id of a run. Plain values. */
  stateDict?(): unknown;
  /**
   * Called before the first result of a training that resumes. A logger drops the results after the step, which are repeated.
   *
   * @param step the step of the checkpoint
   * @param state what `stateDict` returned; undefined if the checkpoint has none
   */
  resume?(step: number, state: unknown): void;
}

/** A {@link Logger} that writes on rank 0 only, so a program may call it on every rank. */
export abstract class RankZeroLogger implements Logger {
  /** Calls `writeHyperparameters` on rank 0. */
  logHyperparameters(hyperparameters: Hyperparameters): void {
    if (isRankZero()) this.writeHyperparameters(flattened(hyperparameters));
  }

  /** Calls `writeMetrics` on rank 0. */
  logMetrics(metrics: Readonly<Record<string, number>>, step: number): void {
    if (isRankZero()) this.writeMetrics(metrics, step);
  }

  /** Calls `end`, on every rank. */
  async close(outcome: Outcome = 'finished'): Promise<void> {
    await this.end(outcome);
  }

  /** Records settings; the names of nested ones are joined by `/`. */
  protected abstract writeHyperparameters(hyperparameters: Readonly<Record<string, string>>): void;

  /** Records values by name. */
  protected abstract writeMetrics(metrics: Readonly<Record<string, number>>, step: number): void;

  /** Resolves when everything is written, or lost. On ranks that have written nothing, too. */
  protected abstract end(outcome: Outcome): Promise<void>;
}

/** True in a process without a group. */
export function isRankZero(): boolean {
  return !isInitialized() || getRank() === 0;
}

/** `{ optimizer: { lr: 0.1 } }` becomes `{ 'optimizer/lr': '0.1' }`. */
export function flattened(values: Hyperparameters, prefix = ''): Record<string, string> {
  const entries = Object.entries(values).flatMap(([name, value]): [string, string][] => {
    const key = `${prefix}${name}`;
    if (isPlainObject(value)) return Object.entries(flattened(value, `${key}/`));
    return [[key, textOf(value)]];
  });
  return Object.fromEntries(entries);
}

function isPlainObject(value: unknown): value is Hyperparameters {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (typeof value === 'function') return value.name;
  if (typeof value === 'object' && value !== null && !('toJSON' in value)) return value.constructor.name;
  return String(value);
}
