import { InvalidArgumentError } from '@ringrun/core';
import type { FitOptions, Models } from './fit-options.ts';
import type { SavedState } from './saved-state.ts';
import type { TrainerOptions } from './trainer-options.ts';

/** What a process that joins a fault-tolerant training receives beside model, optimizer and schedulers. */
export interface SharedState {
  /** Completed optimizer steps. */
  readonly globalStep: number;
  readonly epoch: number;
  readonly trainer: SavedState;
  /** Metrics that are numbers, for schedulers and callbacks. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Position of the loader before the batch of the running step, if it has one. */
  readonly loader?: unknown;
}

/** The Trainer's own position, which `shareState` sends to a process that joins. */
export class SharedTraining {
  /** Returns the position of the running training; called in the middle of a step. */
  source: (() => SharedState) | undefined;
  #received: SharedState | undefined;

  /** The position of the others, in a process that has joined. */
  get received(): SharedState | undefined {
    return this.#received;
  }

  stateDict(): SharedState {
    return this.source!();
  }

  loadStateDict(state: SharedState): void {
    this.#received = state;
  }
}

/** @throws InvalidArgumentError for options that per-step recovery does not support */
export function requireRecoverableOptions(options: TrainerOptions): void {
  const { faultTolerance = 'none', accumulateGradBatches = 1, diloco, processGroup, report } = options;
  if (faultTolerance === 'none') {
    const given = (['minRanks', 'onMembershipChange'] as const).find((name) => options[name] !== undefined);
    if (given === undefined) return;
    throw new InvalidArgumentError(
      `Trainer: ${given}: expected faultTolerance: 'shrink' beside it, got none. Add it, or leave ${given} out.`,
    );
  }
  if (accumulateGradBatches > 1)
    throw refused(
      'no accumulateGradBatches, since a process joins at the beginning of a step',
      String(accumulateGradBatches),
      'Use a larger batch',
    );
  const forbidden = { diloco, processGroup, 'report.profile': report?.profile };
  const [name] = Object.entries(forbidden).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw refused(`no ${name}`, 'it', 'Leave one of the two out');
}

/** @throws InvalidArgumentError for a step or models that per-step recovery does not support */
export function requireRecoverableFit(
  fit: FitOptions<Models, unknown>,
  models: number,
  isWrapped: boolean,
): void {
  if (fit.trainingStep)
    throw refused('one backward pass in a step', 'a trainingStep', 'Pass a loss or a batchLoss');
  if (models !== 1) throw refused('one model', `${models} models`, 'Put them into one module');
  if (isWrapped) throw refused('a module', 'a wrapped one', 'Pass the module; the Trainer wraps it');
}

function refused(expected: string, got: string, fix: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Trainer: faultTolerance: 'shrink': expected ${expected}, got ${got}. ${fix}.`,
  );
}
