import type { Status } from '../../../status.ts';

type Progress = NonNullable<Status['progress']>;

export function epochText({ epoch, epochs }: Progress): string {
  return epochs === undefined ? `epoch ${epoch}` : `epoch ${epoch} of ${epochs}`;
}

export function stepOfEpochText({ stepOfEpoch, stepsOfEpoch }: Progress): string {
  return `step ${stepOfEpoch} of ${stepsOfEpoch}`;
}

/** From 0 to 1: of all epochs, or of this epoch if their number is not known. */
export function doneShare({ epoch, epochs, stepOfEpoch, stepsOfEpoch }: Progress): number {
  const ofEpoch = stepOfEpoch / (stepsOfEpoch || 1);
  return Math.min(1, epochs === undefined ? ofEpoch : (epoch - 1 + ofEpoch) / epochs);
}
