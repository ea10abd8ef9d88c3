import { hostname } from 'node:os';
import { isBucket } from '../storage/open-storage.ts';
import { BackgroundWriter } from './background-writer.ts';
import { failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import type { FlatState } from './flat-state.ts';
import type { LastSaved } from './last-saved.ts';
import type { SaveInfo } from './manifest.ts';
import { log } from './log.ts';
import { lockFolder } from './folder-lock.ts';
import { encodeParts } from './packed-parts.ts';
import type { Part } from './packed-parts.ts';

/** Milliseconds of waiting for a write after which it is logged; the same as for the store. */
const logAfterMs = 5000;

/** Writes whose last failure is not reported yet. A process that ends with one exits with code 1. */
const unreported = new Set<Writes>();

interface WriteInProgress {
  location: string;
  step: number;
  written: Promise<void>;
}

/** Of all checkpointers of this process. */
const writesInProgress = new Set<WriteInProgress>();

/**
 * Resolves when this process writes no checkpoint anywhere. A training that failed may still be writing its last one, which
 * another checkpointer of the same process is about to look for.
 */
export async function untilAllWritten(who: string): Promise<void> {
  for (const write of writesInProgress) await untilWritten(write, who);
}

/** `who` names the waiting call in the log line. */
async function untilWritten({ location, step, written }: WriteInProgress, who: string): Promise<void> {
  const logTimer = setTimeout(() => {
    log(`${who} waits for the checkpoint of step ${step}, which is still being written to ${location}.`);
  }, logAfterMs);
  await written;
  clearTimeout(logTimer);
}

/** One listener for all writes: Node warns of a leak at more than ten. */
function failAtExit(): void {
  if (unreported.size > 0) process.exitCode = 1;
}

/** Rank 0's writes, one at a time, and the failure of the last one. Unused on other ranks. */
export class Writes {
  readonly #location: string;
  readonly #keep: number;
  readonly #writer: BackgroundWriter;
  #inProgress: WriteInProgress | undefined;
  #failure: Failure | undefined;
  readonly #lastSaved: LastSaved;
  #above = 0;
  #releaseLock: (() => Promise<void>) | undefined;

  constructor(location: string, keep: number, lastSaved: LastSaved) {
    this.#location = location;
    this.#keep = keep;
    this.#lastSaved = lastSaved;
    this.#writer = new BackgroundWriter(location);
  }

  /**
   * Locks the folder for this process, if it is not locked yet. For a bucket, which has no locks, the writer
   * thread does this.
   *
   * @throws CheckpointError `ERR_CHECKPOINT_IN_USE` that names the process which holds the lock
   */
  async lock(): Promise<void> {
    if (!isBucket(this.#location)) this.#releaseLock ??= await lockFolder(this.#location);
  }

  /** Releases the lock and ends the thread, until the next save. No write may be in progress. */
  async end(): Promise<void> {
    const release = this.#releaseLock;
    this.#releaseLock = undefined;
    await this.#writer.end();
    await release?.();
  }

  /** Uses higher numbers than `number` from now on; that checkpoint may be on another host. */
  continueAbove(number: number): void {
    this.#above = Math.max(this.#above, number);
  }

  /** Copies the parts synchronously and starts writing them. No other write may be in progress. */
  begin(saveInfo: SaveInfo, parts: ReadonlyMap<string, Part<FlatState>>): void {
    const written = this.#write(saveInfo, parts)
      .catch((error: unknown) => {
        this.#fail(saveInfo.step, error);
      })
      .finally(() => {
        this.#inProgress = undefined;
        writesInProgress.delete(write);
      });
    const write = { location: this.#location, step: saveInfo.step, written };
    this.#inProgress = write;
    writesInProgress.add(write);
  }

  /** Copies the parts before its first await. */
  async #write(saveInfo: SaveInfo, parts: ReadonlyMap<string, Part<FlatState>>): Promise<void> {
    const files = encodeParts(parts, this.#writer.allocate);
    const job = { saveInfo, files, keep: this.#keep, above: this.#above };
    const { name, number, notDeleted } = await this.#writer.write(job);
    const path = `${this.#location}/${name}`;
    const { step, training } = saveInfo;
    await this.#lastSaved.record({ number, step, path, host: hostname(), training });
    if (notDeleted === undefined) return;
    log(`${name} is written, but older checkpoints could not be deleted: ${notDeleted}`);
  }

  /** Resolves when no write is in progress. `who` names the waiting call in the log line. */
  async whenWritten(who: string): Promise<void> {
    if (this.#inProgress !== undefined) await untilWritten(this.#inProgress, who);
  }

  /** Returns the failure of the last write and clears it. */
  takeFailure(): Failure | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    unreported.delete(this);
    return failure;
  }

  /** Takes back a failure that could not be reported, unless there is a newer one. Rank 0 keeps it. */
  returnFailure(rank: number, failure: Failure): void {
    if (rank !== 0) return;
    this.#failure ??= failure;
    unreported.add(this);
  }

  #fail(step: number, error: unknown): void {
    const { message, ...rest } = failureOf(error);
    const description = `the checkpoint of step ${step} was not written to ${this.#location}: ${message}`;
    this.#failure = { ...rest, message: description };
    log(
      `${description} Earlier checkpoints are intact. Training continues; the next save() or finished() reports this on every rank.`,
    );
    unreported.add(this);
    process.off('exit', failAtExit).on('exit', failAtExit);
  }
}
