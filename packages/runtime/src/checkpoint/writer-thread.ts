/** The thread in which checkpoints are hashed and written. It takes one job at a time, and says how it went. */
import { parentPort, workerData } from 'node:worker_threads';
import { openStorage } from '../storage/index.ts';
import { failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import { writeCheckpoint } from './write-checkpoint.ts';
import type { WriteJob, Written } from './write-checkpoint.ts';

export interface WriterThreadData {
  /** As `openStorage` takes it. */
  location: string;
}

/** How a job went. Its memory comes back, to be used for the next one. */
export interface WriterReport {
  files: WriteJob['files'];
  outcome: { written: Written } | { failure: Failure };
}

const { location } = workerData as WriterThreadData;
const storage = openStorage(location);
const port = parentPort!;

port.on('message', (job: WriteJob) => void carryOut(job));

async function carryOut(job: WriteJob): Promise<void> {
  const outcome = await writeCheckpoint(storage, job).then(
    (written) => ({ written }),
    (error: unknown) => ({ failure: failureOf(error) }),
  );
  const report: WriterReport = { files: job.files, outcome };
  port.postMessage(
    report,
    [...job.files.values()].map(({ buffer }) => buffer as ArrayBuffer),
  );
}
