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

/** Milliseconds that a write is waited for until that is said: as long as a store that is waited for is quiet. */
const quietMs = 5000;

/** Rank 0's writes, one after the other, and what became of the last one. On other ranks there is none. */
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
   * Makes this process the only one that writes to the place, if it is not that yet. In a bucket, which has no locks, the thread does so.
   *
   * @throws CheckpointError `ERR_CHECKPOINT_IN_USE` that names the process which is
   */
  async claim(): Promise<void> {
    if (!isBucket(this.#location)) this.#unlock ??= await lockFolder(this.#location);
  }

  /** Others may write to the place, until the next save. */
  async disclaim(): Promise<void> {
    const unlock = this.#unlock;
    this.#unlock = undefined;
    await unlock?.();
  }

  /** Checkpoints get higher numbers than this one, which another host may have. */
  continueAbove(number: number): void {
    this.#above = Math.max(this.#above, number);
  }

  /** Copies the parts before it returns, and writes them meanwhile. Nothing else may be under way. */
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

  /** Up to its first await it runs at once. */
  async #write(occasion: Occasion, parts: ReadonlyMap<string, Part<FlatState>>): Promise<void> {
    const files = encodeParts(parts, this.#writer.allocate);
    const job = { occasion, files, keep: this.#keep, above: this.#above };
    const { name, number, notDeleted } = await this.#writer.write(job);
    const path = `${this.#location}/${name}`;
    await this.#lastSaved.record({ number, step: occasion.step, path, host: hostname() });
    if (notDeleted === undefined) return;
    say(`${name} is written, and older checkpoints could not be deleted: ${notDeleted}`);
  }

  /** Resolves when nothing is being written. `who` waits, for the line that says so where it takes long. */
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

  /** Why the last write failed, if it did and this has not been asked before. */
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
      `${told} Those before it are as they were. Training goes on; the next save, or finished(), fails on every rank.`,
    );
    process.once('exit', () => {
      if (this.#failure !== undefined) process.exitCode = 1;
    });
  }
}

function say(line: string): void {
  process.stderr.write(`ringrun: ${line}\n`);
}
