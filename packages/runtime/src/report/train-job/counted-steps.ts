import { ddpEvents } from '../../ddp/events.ts';
import { trainerServerIn } from './server-variables.ts';
import type { TrainJobProgress } from './train-job-progress.ts';

let progress: TrainJobProgress | undefined;
/** Created on first use; `undefined` before. */
let opening: Promise<void> | undefined;

/**
 * Reports the number of steps of DistributedDataParallel to Kubeflow Trainer, in the pod of a TrainJob
 * without a training report. The total is unknown, so no percentage is sent.
 */
export function startCountingSteps(): void {
  ddpEvents.on('averaged', reportCount);
}

/** Called by a training report, which sends more than a count. */
export function stopCountingSteps(): void {
  ddpEvents.off('averaged', reportCount);
}

function reportCount(steps: number, rank: number): void {
  if (rank !== 0) return;
  opening ??= open();
  if (progress?.isDue === true)
    progress.show({ epoch: 1, epochs: undefined, steps, stepsOfEpoch: 0 }, { steps });
}

/** Outside of a TrainJob, later steps cost nothing. */
async function open(): Promise<void> {
  const server = trainerServerIn(process.env);
  if (server === undefined) {
    stopCountingSteps();
    return;
  }
  const { TrainJobProgress } = await import('./train-job-progress.ts');
  progress = new TrainJobProgress(server);
}
