/** The thread in which checkpoints are hashed and written. It takes one job at a time, and reports how it went. */
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { isBucket, openStorage } from '../storage/open-storage.ts';
import { BucketClaim } from './bucket-claim.ts';
import { failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import { writeCheckpoint } from './write-checkpoint.ts';
import type { WriteJob, Written } from './write-checkpoint.ts';
import type { WriterIdentity } from './writer-identity.ts';

export interface WriterThreadData {
  /** As `openStorage` takes it. */
  location: string;
  /** Of this process. */
  identity: WriterIdentity;
  /** Takes a `WriterReport` for each job; not the parent's port, because one thread that blocks has to be able to read it. */
  reports: MessagePort;
  /** One Int32, a `WriterState`, for a main thread that blocks until a job is over. */
  state: SharedArrayBuffer;
}

export const writerState = { writing: 0, idle: 1, ended: 2 } as const;

/** How a job went. Its memory comes back, to be used for the next one. */
export interface WriterReport {
  files: WriteJob['files'];
  outcome: { written: Written } | { failure: Failure };
}

const data = workerData as WriterThreadData;
const storage = openStorage(data.location);
const state = new Int32Array(data.state);
// A folder is locked by the main thread.
const claim = isBucket(data.location) ? new BucketClaim(storage, data.identity) : undefined;

parentPort!.on('message', (job: WriteJob) => void carryOut(job));
process.on('exit', () => {
  enter(writerState.ended);
});

async function carryOut(job: WriteJob): Promise<void> {
  const outcome = await writeCheckpoint(storage, job, claim).then(
    (written) => ({ written }),
    (error: unknown) => ({ failure: failureOf(error) }),
  );
  const report: WriterReport = { files: job.files, outcome };
  data.reports.postMessage(
    report,
    [...job.files.values()].map(({ buffer }) => buffer as ArrayBuffer),
  );
  enter(writerState.idle);
}

function enter(next: number): void {
  Atomics.store(state, 0, next);
  Atomics.notify(state, 0);
}
