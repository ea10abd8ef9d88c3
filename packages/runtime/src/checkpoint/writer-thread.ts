/** The thread that hashes and writes checkpoints. It receives one job at a time and reports the outcome. */
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
  /** A location, as passed to `openStorage`. */
  location: string;
  /** Identity of this process. */
  identity: WriterIdentity;
  /**
   * Receives a `WriterReport` per job. A separate port, because a blocked main thread must be able to read
   * it.
   */
  reports: MessagePort;
  /** One Int32 from `writerState`, on which the main thread can block until a job is complete. */
  state: SharedArrayBuffer;
}

export const writerState = { writing: 0, idle: 1, ended: 2 } as const;

/** The outcome of a job. The files' memory is returned for reuse. */
export interface WriterReport {
  files: WriteJob['files'];
  outcome: { written: Written } | { failure: Failure };
}

const data = workerData as WriterThreadData;
const storage = openStorage(data.location);
const state = new Int32Array(data.state);
// The main thread locks folders, so only buckets need a claim.
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
