import type { DistributedParameter, StartableOperation } from '@ringrun/core';

/** Settings of a `Reducer`. */
export interface ReducerSettings {
  /** Bytes of the first bucket. */
  firstCap: number;
  /** Bytes of every other bucket. */
  cap: number;
  /** Average the first buckets during the rest of the backward pass. Default: `false`. */
  overlaps?: boolean;
  /** Gradients are averaged by `averageSync`. Default: `false`. */
  synchronous?: boolean;
  /**
   * Called when a step's gradients are averaged. The backward pass ends after it has resolved; a
   * `synchronous` pass does not await it.
   */
  afterAverage?: (step: AveragedStep) => void | Promise<void>;
  /**
   * Whether `afterAverage` reads the parameters in a step; then the optimizer must not change them earlier. Default:
   * never.
   */
  readsParameters?: (step: number) => boolean;
  /** Repeats the average in another group if a rank dies. Default: undefined, the average fails then. */
  recovery?: AverageRecovery;
}

/** Repeats an average until it has succeeded. */
export interface AverageRecovery {
  /** Whether buckets may be averaged during the rest of the backward pass: the group stays the same until `run`. */
  mayStartEarly(): boolean;
  /**
   * The operation that ends an average, to be started after the all-reduces of the buckets without JavaScript. Undefined if
   * `run` must start it.
   */
  prepareCommit(): StartableOperation | undefined;
  /**
   * @param average starts the all-reduces before it returns its promise. May be called again after it has rejected and
   * `Reducer.enterGroup` has been called.
   * @param startedCommit the operation of `prepareCommit` if it was started, after the all-reduces, which the first call of
   * `average` awaits. Default: undefined, nothing was started without JavaScript.
   */
  run(average: () => Promise<void>, startedCommit?: StartableOperation): Promise<void>;
}

/** A step whose gradients have been averaged. */
export interface AveragedStep {
  /** From 1; the same on every rank. */
  step: number;
  /** Parameters on which no rank's loss depends. */
  unused: ReadonlySet<DistributedParameter>;
}

/** Computes the weights of the ranks' gradients in an average. */
export interface Weigher {
  /** Divide by the sum of the weights instead of by the number of ranks. */
  readonly divides: boolean;
  /** Returns the weight of this rank in the step that starts. In the first step of a join it is a collective. */
  weigh(): number;
  /** Called instead of `weigh` by a rank that has run out of batches. Returns false if no rank has any left. */
  anyRankTrains(): boolean;
}
