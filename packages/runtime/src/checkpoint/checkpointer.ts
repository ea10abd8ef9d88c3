import { randomUUID } from 'node:crypto';
import { givenLocation, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames, ProcessGroup } from '@ringrun/core';
import { refuseFileAsFolder } from '../storage/folder-path.ts';
import { isBucket, openStorage } from '../storage/open-storage.ts';
import type { Storage } from '../storage/index.ts';
import { checkpointsAmong, namePrefix, newestFirst } from './catalogue.ts';
import { reportLostSave } from './exit-handling.ts';
import { PreemptionWatch, exitPreempted } from './preemption.ts';
import { findCheckpoint } from './find-checkpoint.ts';
import { LastSaved } from './last-saved.ts';
import { loadCheckpoint } from './load-parts.ts';
import { mergePerRankStates, perRankStatesOf, RegisteredObjects } from './registered-objects.ts';
import {
  attempt,
  requireAgreement,
  requireSuccess,
  sharedError,
  checkpointGroup,
  untilSettled,
} from './checkpoint-group.ts';
import type { CheckpointGroup } from './checkpoint-group.ts';
import type { Failure } from './checkpoint-error.ts';
import { untilAllWritten, Writes } from './writes.ts';

/** Options of a {@link Checkpointer}. */
export interface CheckpointerOptions {
  /**
   * Location of the checkpoints: the path or `file:` URL of a folder shared by all hosts, or `s3://bucket/prefix`. Use one
   * location per job.
   */
  dir: string | URL;
  /** Number of checkpoints to keep, an integer of at least 1. Default: 3. */
  keep?: number;
  /** The ranks that train together. Default: the default group, or this process alone without one. */
  processGroup?: ProcessGroup;
}

const saveName = 'Checkpointer.save';

/** Earlier trainings that a manifest names. */
const maxTrainings = 100;

const checkpointerOptions: OptionNames<CheckpointerOptions> = { dir: true, keep: true, processGroup: true };

/** Options of {@link Checkpointer.register}. */
export interface RegisterOptions {
  /**
   * Save the state of every rank instead of only rank 0's. Use it for state that differs between ranks.
   * Default: `false`.
   */
  perRank?: boolean;
}

/** Position in the training, saved with the state. All ranks pass the same step and epoch. */
export interface Progress {
  /** Number of completed steps, an integer of at least 0. */
  step: number;
  /** The epoch, an integer of at least 0. Default: 0. */
  epoch?: number;
  /** Other values to save, taken from rank 0. The same types as in a state dict. */
  values?: Readonly<Record<string, unknown>>;
}

/** Options of {@link Checkpointer.resume}. */
export interface ResumeOptions {
  /**
   * Require the registered names to match the saved names exactly. Default: `true`. If `false`, names on one
   * side only are ignored.
   */
  strict?: boolean;
}

const registerOptions: OptionNames<RegisterOptions> = { perRank: true };
const progressNames: OptionNames<Progress> = { step: true, epoch: true, values: true };
const resumeOptions: OptionNames<ResumeOptions> = { strict: true };

/** The saved progress, and the checkpoint it was loaded from. */
export interface Resumed {
  /** Number of completed steps. */
  step: number;
  /** The epoch that was passed to `save`. */
  epoch: number;
  /** The values that rank 0 passed to `save`; empty if it passed none. */
  values: Readonly<Record<string, unknown>>;
  /** Number of ranks that saved it. */
  worldSize: number;
  /** Time of the save. */
  time: Date;
  /** Path of the checkpoint: a folder, or `s3://bucket/prefix/checkpoint-…`. */
  path: string;
}

/**
 * Saves and resumes training (similar to torch.distributed.checkpoint). Resumed on the same number of ranks,
 * training is bit-identical to an uninterrupted run.
 *
 * ```ts
 * const checkpoints = new Checkpointer({ dir: 's3://bucket/job-7' });
 * checkpoints.register({ model, optimizer, scheduler, loader });
 * let { step, epoch } = (await checkpoints.resume('auto')) ?? { step: 0, epoch: 0 };
 * …
 * if (step % 100 === 0) await checkpoints.save({ step, epoch });
 * …
 * await checkpoints.finished();
 * ```
 *
 * `save`, `finished` and `resume` are collectives: every rank calls them between steps, outside `join`. Rank
 * 0 writes and reads. The saved state is rank 0's, except for objects registered with `perRank` and for the
 * random states of libraries (such as dropout in `@ringrun/nn`), which register themselves.
 *
 * A checkpoint does not contain the state of `Math.random`, the states of communication hooks (PowerSGD), or
 * buffers that differ between ranks (`broadcastBuffers: false`), unless the program registers them. Those of a
 * hook: `register({ hook: hook.state })` and `register({ feedback: hook.rankState }, { perRank: true })`.
 */
export class Checkpointer {
  /** Location of the checkpoints. */
  readonly location: string;
  readonly #storage: Storage;
  readonly #group: ProcessGroup | undefined;
  readonly #objects = new RegisteredObjects();
  readonly #writes: Writes;
  readonly #lastSaved: LastSaved;
  readonly #preemption = new PreemptionWatch();
  /** `Manifest.training` of the next save. */
  #training: string | undefined;
  /** `Manifest.after` of the next save. */
  #after: readonly string[] = [];
  /** Step of the last save. */
  #savedStep: number | undefined;

  /**
   * Does not access the location yet.
   *
   * @throws InvalidArgumentError if `dir` is neither a folder nor a bucket, or `keep` is below 1
   */
  constructor(options: CheckpointerOptions) {
    requireOptions('Checkpointer', options, checkpointerOptions);
    const { dir, keep = 3, processGroup } = options;
    requireInteger(keep, { who: 'Checkpointer', what: 'keep', min: 1 });
    const location = givenLocation(dir, 'Checkpointer: dir');
    this.#storage = openStorage(location);
    if (!isBucket(location)) refuseFileAsFolder(location, 'Checkpointer: dir');
    this.location = this.#storage.location;
    this.#group = processGroup;
    this.#lastSaved = new LastSaved(this.location);
    this.#writes = new Writes(this.location, keep, this.#lastSaved);
  }

  /**
   * Registers the objects that checkpoints contain. Names consist of letters, digits, `_` and `-`, and must
   * be the same on every rank. For a `DistributedDataParallel`, its model is registered.
   *
   * @throws InvalidArgumentError if a name is taken or invalid, or an object lacks stateDict or
   * loadStateDict; then nothing is registered
   */
  register(objects: Readonly<Record<string, unknown>>, options: RegisterOptions = {}): void {
    requireOptions('Checkpointer.register', options, registerOptions);
    const { perRank = false } = options;
    this.#objects.add(objects, perRank);
  }

  /**
   * Saves all registered objects. A collective. First waits for the previous write, and logs this if it takes
   * longer than 5 s. Resolves when the state is copied, so training may change it. Rank 0 then writes in the
   * background and deletes the oldest checkpoints.
   *
   * A process that ends during a write completes it first: after process.exit(), an uncaught error, or an
   * unhandled SIGTERM, SIGINT or SIGHUP, it blocks for at most the launcher's grace period (default: 30 s).
   * If the write does not complete in time, the loss is logged and the exit code is not 0.
   *
   * A failed write of the previous save is thrown after this one has begun, so a program that catches the error
   * loses only the checkpoint that the message names.
   *
   * @throws CheckpointError on every rank: `ERR_CHECKPOINT_NOT_WRITTEN` if the previous write failed, with the
   * cause (older checkpoints are kept, and this one is being written), or if a stateDict failed (nothing is
   * saved); `ERR_CHECKPOINT_IN_USE` if another job writes to `dir`, with its host and process;
   * `ERR_CHECKPOINT_RANKS_DIFFER` if the ranks save different steps or objects
   */
  async save(progress: Progress): Promise<void> {
    requireOptions('Checkpointer.save', progress, progressNames);
    const earlier = await this.#save(progress);
    if (earlier === undefined) return;
    const { step } = progress;
    const message = `${earlier.message} The checkpoint of step ${step} is being written.`;
    throw sharedError(saveName, 0, { ...earlier, message }, 'not written');
  }

  /**
   * Saves and ends the process if a rank has received SIGTERM (exit code 143), such as before a spot node is reclaimed or a
   * pod is deleted, or SIGINT (130), which Ctrl-C sends. All ranks save one checkpoint at the same step, which is the next
   * step or the one after it. Does nothing otherwise. A collective; call it after every step. It starts one all-reduce of
   * 4 bytes, which runs during the next step.
   *
   * From the first call until `finished()`, these signals no longer end the process at once, but a second Ctrl-C does. The
   * save must be complete within the grace period of the launcher and of the cluster (default of both: 30 s).
   *
   * @throws CheckpointError as `save` and `finished` do
   */
  async saveIfPreempted(progress: Progress): Promise<void> {
    requireOptions('Checkpointer.saveIfPreempted', progress, progressNames);
    const group = checkpointGroup(this.#group);
    const signalled = await this.#preemption.step(group);
    if (signalled === undefined) return;
    const { step } = progress;
    // An earlier failure has been logged, and does not matter any more.
    if (this.#savedStep !== step) await this.#save(progress);
    await this.#finished();
    await exitPreempted(group, { ...signalled, step, location: this.location });
  }

  /**
   * Resolves when the last save is written. A collective; call it at the end of a program. A program that
   * ends without it also waits for the write, and exits with code 1 if the write fails.
   *
   * @throws CheckpointError `ERR_CHECKPOINT_NOT_WRITTEN` on every rank if the write failed
   */
  async finished(): Promise<void> {
    this.#preemption.end();
    await this.#finished();
  }

  async #finished(): Promise<void> {
    try {
      await this.#lastWrite(checkpointGroup(this.#group), 'Checkpointer.finished');
    } finally {
      await this.#writes.end();
    }
  }

  /**
   * Loads the saved state into the registered objects. A collective. Every rank lists the folder; the first
   * rank that sees the checkpoint (usually rank 0) reads it and sends it to the others. No timeout applies to
   * reading.
   *
   * @param from 'auto': the newest undamaged checkpoint in `dir`; skipped ones are logged; resolves with undefined if
   * no checkpoint exists yet. A path: that checkpoint, or the newest one in that folder or below that prefix; throws if
   * none exists. Undefined: nothing is loaded.
   * @throws CheckpointError, the same on every rank, with all state unchanged: `ERR_CHECKPOINT_NOT_FOUND`,
   * `ERR_CHECKPOINT_DAMAGED` with the file and its hashes, `ERR_CHECKPOINT_VERSION`, `ERR_CHECKPOINT_BEHIND`
   * if 'auto' finds only checkpoints older than this job's last one (detected under the launcher),
   * `ERR_CHECKPOINT_MISFIT` with the first difference, `ERR_CHECKPOINT_NOT_READ` with the storage's reason
   */
  async resume(from?: string | URL, options: ResumeOptions = {}): Promise<Resumed | undefined> {
    requireOptions('Checkpointer.resume', options, resumeOptions);
    const { strict = true } = options;
    if (from === undefined) return undefined;
    const path = from === 'auto' ? from : givenLocation(from, 'Checkpointer.resume');
    const group = checkpointGroup(this.#group);
    await untilSettled(group, untilAllWritten('Checkpointer.resume'));
    const lastSaved = () => this.#lastSaved.read();
    const { found, highest, trainings } = await findCheckpoint(group, {
      own: this.#storage,
      from: path,
      lastSaved,
    });
    this.#writes.continueAbove(highest);
    this.#after = trainings;
    if (found === undefined) return undefined;
    const { manifest, files } = found;
    const values = await loadCheckpoint(group, `Checkpointer.resume from ${found.path}`, {
      registered: this.#objects.all(),
      files,
      strict,
      worldSize: manifest.worldSize,
    });
    // Resuming from any other checkpoint begins a new training.
    this.#training = from === 'auto' ? manifest.training : undefined;
    const others = new Set([...(manifest.after ?? []), ...trainings]);
    this.#after = [...others].filter((training) => training !== this.#training).slice(-maxTrainings);
    const { step, epoch, worldSize, time } = manifest;
    return { step, epoch, values, worldSize, time: new Date(time), path: found.path };
  }

  /**
   * Returns the path of the newest complete checkpoint in `dir` as this process sees it, or undefined. Does
   * not read it.
   */
  async latest(): Promise<string | undefined> {
    const entries = checkpointsAmong(await this.#storage.list(namePrefix));
    const newest = newestFirst(entries).at(0);
    return newest && `${this.location}/${newest.name}`;
  }

  /** Returns the failure of the previous write, if it failed. */
  async #save(progress: Progress): Promise<Failure | undefined> {
    const release = reportLostSave(`${saveName} of step ${progress.step}`);
    try {
      const group = checkpointGroup(this.#group);
      const earlier = await this.#lastFailure(group, saveName);
      try {
        await this.#begin(group, progress);
      } catch (error) {
        if (earlier !== undefined) this.#writes.returnFailure(group.rank, earlier);
        throw error;
      }
      this.#savedStep = progress.step;
      return earlier;
    } finally {
      release();
    }
  }

  async #begin(group: CheckpointGroup, { step, epoch = 0, values = {} }: Progress): Promise<void> {
    const collecting = attempt(async () => {
      for (const [name, value] of Object.entries({ step, epoch }))
        requireInteger(value, { who: saveName, what: name, min: 0 });
      if (group.rank === 0) await this.#writes.lock();
      return await this.#objects.collectStates(group.rank, values);
    });
    await untilSettled(group, collecting);
    const parts = await requireSuccess(group, saveName, await collecting, 'not written');
    await requireAgreement(
      group,
      saveName,
      `step ${step} of epoch ${epoch} with ${[...parts.keys()].join(', ')}`,
    );
    const statesByRank = await group.gatherObject(perRankStatesOf(parts));
    if (!statesByRank) return;
    const time = new Date().toISOString();
    const training = (this.#training ??= randomUUID());
    const after = this.#after.length === 0 ? {} : { after: this.#after };
    const saveInfo = { step, epoch, worldSize: group.size, time, training, ...after };
    this.#writes.begin(saveInfo, mergePerRankStates(parts, statesByRank));
  }

  /** Waits for rank 0's write. Throws on every rank if it failed. */
  async #lastWrite(group: CheckpointGroup, who: string): Promise<void> {
    const failure = await this.#lastFailure(group, who);
    if (failure) throw sharedError(who, 0, failure, 'not written');
  }

  /** Waits for rank 0's write, and returns its failure on every rank. */
  async #lastFailure(group: CheckpointGroup, who: string): Promise<Failure | undefined> {
    await untilSettled(group, this.#writes.whenWritten(who));
    return await group.broadcastObject(this.#writes.takeFailure());
  }
}
