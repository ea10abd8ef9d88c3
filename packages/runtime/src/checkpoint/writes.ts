import { hostname } from 'node:os';
import { isBucket } from '../storage/open-storage.ts';
import { BackgroundWriter } from './background-writer.ts';
import { failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import type { FlatState } from './flat-state.ts';
import type { LastSaved } from './last-saved.ts';
import type { Occasion } from './manifest.ts';
import { lockFolder } from './folder-lock.ts';
import { encodeParts } from './packed-parts.ts';
import type { Part } from './packed-parts.ts';

/** Milliseconds of waiting for a write after which it is logged; the same as for the store. */
const quietMs = 5000;

/** Rank 0's writes, one at a time, and the failure of the last one. Unused on other ranks. */
export class Writes {
  readonly #location: string;
  readonly #keep: number;
  readonly #writer: BackgroundWriter;
  #under: { step: number; over: Promise<void> } | undefined;
  #failure: Failure | undefined;
  readonly #lastSaved: LastSaved;
  #above = 0;
  #unlock: (() => Promise<void>) | undefined;

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
  async claim(): Promise<void> {
    if (!isBucket(this.#location)) this.#unlock ??= await lockFolder(this.#location);
  }

  /** Releases the lock until the next save. */
  async disclaim(): Promise<void> {
    const unlock = this.#unlock;
    this.#unlock = undefined;
    await unlock?.();
  }

  /** Uses higher numbers than `number` from now on; that checkpoint may be on another host. */
  continueAbove(number: number): void {
    this.#above = Math.max(this.#above, number);
  }

  /** Copies the parts synchronously and starts writing them. No other write may be in progress. */
  begin(occasion: Occasion, parts: ReadonlyMap<string, Part<FlatState>>): void {
    const over = this.#write(occasion, parts)
      .catch((error: unknown) => {
        this.#fail(occasion.step, error);
      })
      .finally(() => {
        this.#under = undefined;
      });
    this.#under = { step: occasion.step, over };
  }

  /** Copies the parts before its first await. */
  async #write(occasion: Occasion, parts: ReadonlyMap<string, Part<FlatState>>): Promise<void> {
    const files = encodeParts(parts, this.#writer.allocate);
    const job = { occasion, files, keep: this.#keep, above: this.#above };
    const { name, number, notDeleted } = await this.#writer.write(job);
    const path = `${this.#location}/${name}`;
    await this.#lastSaved.record({ number, step: occasion.step, path, host: hostname() });
    if (notDeleted === undefined) return;
    say(`${name} is written, but older checkpoints could not be deleted: ${notDeleted}`);
  }

  /** Resolves when no write is in progress. `who` names the waiting call in the log line. */
  async over(who: string): Promise<void> {
    if (this.#under === undefined) return;
    const { step, over } = this.#under;
    const patience = setTimeout(() => {
      say(
        `${who} waits for the checkpoint of step ${step}, which is still being written to ${this.#location}.`,
      );
    }, quietMs);
    await over;
    clearTimeout(patience);
  }

  /** Returns the failure of the last write and clears it. */
  takeFailure(): Failure | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  #fail(step: number, error: unknown): void {
    const { message, ...rest } = failureOf(error);
    const told = `the checkpoint of step ${step} was not written to ${this.#location}: ${message}`;
    this.#failure = { ...rest, message: told };
    say(
      `${told} Earlier checkpoints are intact. Training continues; the next save() or finished() fails on every rank.`,
    );
    process.once('exit', () => {
      if (this.#failure !== undefined) process.exitCode = 1;
    });
  }
}

function say(line: string): void {
  process.stderr.write(`ringrun: ${line}\n`);
}
