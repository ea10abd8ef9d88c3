/** How far a training is, as Kubeflow Trainer shows it of a TrainJob. */
export interface TrainerStatus {
  /** Whole percent; absent where nobody knows how much there is to do. */
  progressPercentage?: number;
  /** Whole seconds; absent where nobody knows. */
  estimatedRemainingSeconds?: number;
  metrics: { name: string; value: string }[];
}

/** Where a training stands. */
export interface Standing {
  /** From 1. */
  epoch: number;
  /** Undefined where nobody has said. */
  epochs: number | undefined;
  /** Steps of the epoch that are over, and that it has. */
  steps: number;
  stepsOfEpoch: number;
}

/** The part of the training that is done, from 0 to 1; undefined where nobody has said how many epochs there will be. */
export function fractionDone({ epoch, epochs, steps, stepsOfEpoch }: Standing): number | undefined {
  if (epochs === undefined || epochs <= 0) return undefined;
  const ofEpoch = stepsOfEpoch > 0 ? steps / stepsOfEpoch : 1;
  return Math.min((epoch - 1 + ofEpoch) / epochs, 1);
}

/**
 * Seconds until the end, when the rest goes as fast as what was done since `from`; undefined before anything was.
 *
 * @param from the part that was done when this process began, which is more than 0 where a training is resumed
 * @param now the part that is done
 */
export function secondsLeft(from: number, now: number, secondsSince: number): number | undefined {
  return now > from ? (secondsSince / (now - from)) * (1 - now) : undefined;
}

/** 100 is for the end: a training of which 99.9% are done goes on. */
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

/** Six significant digits, as a person would write them; NaN and infinities by name. */
function formatMetric(value: number): string {
  return String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);
}
