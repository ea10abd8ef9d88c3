import { Writable } from 'node:stream';
import { DistributedSampler, trainingReport, type ProcessGroup, type TrainingReport } from 'ringrun';
import type { Loader } from './fit-options.ts';
import type { TrainerOptions } from './trainer-options.ts';

/** Receives output that is not shown. */
function nowhere(): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
}

/** Where the training prints on rank 0. */
export function outputOf({ enableProgressBar = true, report }: TrainerOptions): NodeJS.WritableStream {
  return enableProgressBar ? (report?.output ?? process.stdout) : nowhere();
}

/** Opens the report on a training. A collective. */
export async function openReport(
  options: TrainerOptions,
  loader: Loader<unknown>,
  place: { readonly group: ProcessGroup | undefined; readonly batchesBefore: number },
): Promise<TrainingReport> {
  const { maxEpochs, maxSteps, logEveryNSteps = 50, report = {} } = options;
  const { group, batchesBefore } = place;
  const epochs = maxEpochs ?? (maxSteps === undefined ? defaultEpochs : undefined);
  return await trainingReport({
    ...report,
    samples: report.samples ?? samplesOf(loader, group?.size ?? 1, options),
    ...(epochs !== undefined && { epochs }),
    logInterval: logEveryNSteps,
    output: outputOf(options),
    stepsBefore: batchesBefore,
    ...(group && options.faultTolerance !== 'shrink' && { processGroup: group }),
  });
}

/** Lightning's limit, if there is no other. */
export const defaultEpochs = 1000;

/** Samples of an epoch over all ranks; of a training that is shorter than an epoch, its own. */
function samplesOf(
  loader: Loader<unknown>,
  ranks: number,
  { maxSteps = Infinity, accumulateGradBatches = 1 }: TrainerOptions,
): number {
  const { dataset, batchSize = 1 } = loader as {
    readonly dataset?: { readonly length?: number };
    readonly batchSize?: number;
  };
  const ofBatch = batchSize * ranks;
  return Math.min(dataset?.length ?? loader.length * ofBatch, maxSteps * accumulateGradBatches * ofBatch);
}

/** A line if every rank trains on all samples; undefined if they are shared, or that is not known. */
export function sharingProblem(loader: Loader<unknown>, group: ProcessGroup | undefined): string | undefined {
  const { dataset } = loader as { readonly dataset?: object };
  if (group === undefined || group.size === 1 || dataset === undefined || 'iterate' in dataset)
    return undefined;
  const { sampler } = loader as { readonly sampler?: unknown };
  if (sampler instanceof DistributedSampler) return undefined;
  return `Trainer.fit: each of the ${group.size} ranks visits all ${(dataset as { length: number }).length} samples. Pass a sampler to the DataLoader: new DistributedSampler(dataset).`;
}
