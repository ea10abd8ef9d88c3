import { trainerServerIn } from './server-variables.ts';
import type { TrainJobProgress } from './train-job-progress.ts';

let progress: TrainJobProgress | undefined;
/** Asked for once: `undefined` until then. */
let opening: Promise<void> | undefined;
let isReported = false;

/** From here on a report tells Kubeflow Trainer more than a count. */
export function leaveTellingToReport(): void {
  isReported = true;
}

/**
 * Tells Kubeflow Trainer, in the pod of a TrainJob and where no report does, how many steps DistributedDataParallel has made. How many there will be nobody has
 * said to us, so no percentage: a number that is right, and that goes on as long as the training does.
 *
 * Called by rank 0 after every step; returns at once.
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
