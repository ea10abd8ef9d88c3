/** The status of a TrainJob, in the format of Kubeflow Trainer. */
export interface TrainerStatus {
  /** Whole percent; absent if the total is unknown. */
  progressPercentage?: number;
  /** Whole seconds; absent if unknown. */
  estimatedRemainingSeconds?: number;
  metrics: { name: string; value: string }[];
}

/** The progress of training. */
export interface TrainingProgress {
  /** From 1. */
  epoch: number;
  /** Undefined if unknown. */
  epochs: number | undefined;
  /** Completed and total steps of the epoch. */
  steps: number;
  stepsOfEpoch: number;
}

/** The completed fraction of training, from 0 to 1; undefined if the number of epochs is unknown. */
export function fractionDone({ epoch, epochs, steps, stepsOfEpoch }: TrainingProgress): number | undefined {
  if (epochs === undefined || epochs <= 0) return undefined;
  const ofEpoch = stepsOfEpoch > 0 ? steps / stepsOfEpoch : 1;
  return Math.min((epoch - 1 + ofEpoch) / epochs, 1);
}

/**
 * Estimates the remaining seconds from the rate since `from`; undefined before any progress.
 *
 * @param from the completed fraction when this process started; above 0 after resuming
 * @param now the completed fraction
 */
export function secondsLeft(from: number, now: number, secondsSince: number): number | undefined {
  return now > from ? (secondsSince / (now - from)) * (1 - now) : undefined;
}

/** Rounds down: 100 is reported only at the end. */
export function statusOf(
  fraction: number | undefined,
  left: number | undefined,
  metrics: Readonly<Record<string, number | undefined>>,
): TrainerStatus {
  return {
    ...(fraction === undefined ? {} : { progressPercentage: Math.floor(100 * fraction) }),
    ...(left === undefined ? {} : { estimatedRemainingSeconds: Math.ceil(left) }),
    metrics: Object.entries(metrics).flatMap(([name, value]) =>
      value === undefined ? [] : [{ name, value: formatMetric(value) }],
    ),
  };
}

/** Formats a number with six significant digits, integers with all; NaN and infinities by name. */
function formatMetric(value: number): string {
  return String(Number.isFinite(value) && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value);
}
