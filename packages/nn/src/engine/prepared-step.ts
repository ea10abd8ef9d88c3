import type { StepUpdate } from '../compiler/step-update.ts';
import type { GraphCall } from '../executor/executor.ts';
import type { GradientReceiver, Source } from '../graph/source.ts';

/** A step with the settings of the time of the call. */
export interface PreparedStep {
  /** `identity` of the memory of the parameters that it changes. */
  readonly memory: () => ReadonlySet<object>;
  /** All parameters of the optimizer. */
  readonly parameters: () => ReadonlySet<GradientReceiver>;
  /** @param averages see `GradientPass.updateAverages` */
  readonly run: (averages: boolean) => Promise<void>;
  /** The step as a part of one that computes the gradients of these parameters; undefined if it must run after it. */
  readonly asPartOf: (reached: readonly GradientReceiver[], averages: boolean) => PartOfStep | undefined;
}

/** An optimizer step that another program contains. */
export interface PartOfStep {
  readonly update: StepUpdate;
  /** The calls of the update, after those of the gradients. */
  readonly calls: readonly GraphCall[];
  /**
   * Prepares the part for another step that reaches the same parameters, with the current settings. Returns false if it must
   * be made anew. No parameter may have been frozen meanwhile. Undefined: it must always be made anew.
   */
  prepareAgain?: () => boolean;
  /**
   * What a later run reads in place of leaves of the update, if it follows the first without another preparation: bias
   * corrections depend on the number of the step. `run` counts from 1. Undefined if its update has another graph.
   */
  numbersOfLater?: (run: number) => ReadonlyMap<Source, Float32Array> | undefined;
  /** Call it before the program runs. */
  begins(): void;
  /** Call it when the program has run, once or several times. */
  ended(runs: number): void;
}
