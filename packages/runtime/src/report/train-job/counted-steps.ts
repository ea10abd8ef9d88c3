import { trainerServerIn } from './server-variables.ts';
import type { TrainJobProgress } from './train-job-progress.ts';

let progress: TrainJobProgress | undefined;
/** Created on first use; `undefined` before. */
let opening: Promise<void> | undefined;
let isReported = false;

/** Stops reporting counted steps, because a report sends more than a count. */
export function leaveTellingToReport(): void {
  isReported = true;
}

/**
 * Reports the number of steps of DistributedDataParallel to Kubeflow Trainer, in the pod of a TrainJob
 * without a training report. The total is unknown, so no percentage is sent.
 *
 * Rank 0 calls it after every step. It returns at once.
 */
export function tellOfSteps(steps: number): void {
  if (isReported) return;
  opening ??= open();
  if (progress?.isDue === true)
    progress.show({ epoch: 1, epochs: undefined, steps, stepsOfEpoch: 0 }, { steps });
}

async function open(): Promise<void> {
  const server = trainerServerIn(process.env);
  if (server === undefined) return;
  const { TrainJobProgress } = await import('./train-job-progress.ts');
  progress = new TrainJobProgress(server);
}
