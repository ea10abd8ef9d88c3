import type { StepUpdate } from '../compiler/step-update.ts';
import type { GraphCall } from '../executor/executor.ts';
import type { GradientReceiver, Source } from '../graph/source.ts';

/** A step with the settings at the time of the call. */
export interface PreparedStep {
  /** `identity` of the memory of the parameters that it changes. */
  readonly memory: () => ReadonlySet<object>;
  /** All parameters of the optimizer. */
  readonly parameters: () => ReadonlySet<GradientReceiver>;
  /** @param averages see `GradientPass.updateAverages` */
  readonly run: (averages: boolean) => Promise<void>;
  /** The step as part of the program that computes the gradients of these parameters; undefined if it must run afterwards. */
  readonly asPartOf: (reached: readonly GradientReceiver[], averages: boolean) => PartOfStep | undefined;
}

/** An optimizer step that another program contains. */
export interface PartOfStep {
  readonly update: StepUpdate;
  /** The calls of the update, after those of the gradients. */
  readonly calls: readonly GraphCall[];
  /**
   * Prepares the part for another step with the same parameters and the current settings. Returns false if it must
   * be rebuilt. No parameter may have been frozen since. Undefined if it must always be rebuilt.
   */
  prepareAgain?: () => boolean;
  /**
   * Replacements for leaves of the update in a later run that follows the first without another preparation: bias
   * corrections depend on the step number. `run` counts from 1. Undefined if the update has a different graph.
   */
  numbersOfLater?: (run: number) => ReadonlyMap<Source, Float32Array> | undefined;
  /** Call it before the program runs. */
  begins(): void;
  /** Call it when the program has run, once or several times. */
  ended(runs: number): void;
}
