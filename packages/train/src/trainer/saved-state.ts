import type { Callback } from '../callbacks/callback.ts';
import type { Logger } from '../loggers/logger.ts';

/** What a checkpoint has of the Trainer itself, in `values`. */
export interface SavedState {
  /** Batches of this epoch that rank 0 has trained on. */
  readonly batches: number;
  /** Rank 0's samples in them. */
  readonly samples: number;
  /** All batches of earlier epochs. */
  readonly batchesBefore: number;
  /** States of callbacks by their names. */
  readonly callbacks: Readonly<Record<string, unknown>>;
  /** States of loggers by their names. */
  readonly loggers: Readonly<Record<string, unknown>>;
}

/** States of the objects that have one. Names are classes, with an index, so that several of one class are told apart. */
export function statesOf(objects: readonly (Callback | Logger)[]): Record<string, unknown> {
  const named = objects.flatMap((one, index) =>
    one.stateDict === undefined ? [] : [[nameOf(one, index), one.stateDict()] as const],
  );
  return Object.fromEntries(named);
}

/** Restores callbacks. One that the checkpoint does not have begins anew. */
export function restoreCallbacks(callbacks: readonly Callback[], states: SavedState['callbacks']): void {
  for (const [index, callback] of callbacks.entries()) {
    const name = nameOf(callback, index);
    if (Object.hasOwn(states, name)) callback.loadStateDict?.(states[name] as never);
  }
}

/** Tells loggers where the training continues. */
export function resumeLoggers(loggers: readonly Logger[], step: number, states: SavedState['loggers']): void {
  for (const [index, logger] of loggers.entries()) logger.resume?.(step, states[nameOf(logger, index)]);
}

function nameOf(object: object, index: number): string {
  return `${index}-${object.constructor.name}`;
}
