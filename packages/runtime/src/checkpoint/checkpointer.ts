import { requireOptions } from '@ringrun/collectives';
import type { OptionNames, ProcessGroup } from '@ringrun/collectives';
import { requireInteger } from '../data/require-integer.ts';
import { refuseFileAsFolder } from '../storage/folder-path.ts';
import { isBucket, openStorage } from '../storage/open-storage.ts';
import type { Storage } from '../storage/index.ts';
import { checkpointsAmong, namePrefix, newestFirst } from './catalogue.ts';
import { holdForSave } from './ending.ts';
import { findTogether } from './find-checkpoint.ts';
import { LastSaved } from './last-saved.ts';
import { loadTogether } from './load-parts.ts';
import { ownOf, Registry, together } from './registry.ts';
import { attempt, requireAgreement, requireSuccess, sharedError, teamOf, untilSettled } from './team.ts';
import type { Team } from './team.ts';
import { Writes } from './writes.ts';

export interface CheckpointerOptions {
  /** Where checkpoints are: a folder that all hosts share, or `s3://bucket/prefix`. Of one job alone. */
  dir: string;
  /** How many checkpoints stay, an integer from 1; 3 unless given. */
  keep?: number;
  /** The ranks that train together; the default group unless given, this process alone without one. */
  processGroup?: ProcessGroup;
}

const checkpointerOptions: OptionNames<CheckpointerOptions> = { dir: true, keep: true, processGroup: true };

export interface RegisterOptions {
  /** Whether each rank's state is kept, and not rank 0's for all: for what differs between ranks. False unless given. */
  perRank?: boolean;
}

export interface Progress {
  /** Steps that were made, an integer from 0. */
  step: number;
  /** An integer from 0; 0 unless given. */
  epoch?: number;
  /** Anything else that a program wants back, of rank 0: plain values, as of a state dict. */
  values?: Readonly<Record<string, unknown>>;
}

export interface ResumeOptions {
  /** Whether exactly what was saved must be registered; true unless given. With false what is on one side only is left alone. */
  strict?: boolean;
}

const registerOptions: OptionNames<RegisterOptions> = { perRank: true };
const progressNames: OptionNames<Progress> = { step: true, epoch: true, values: true };
const resumeOptions: OptionNames<ResumeOptions> = { strict: true };

/** What a program goes on from. */
export interface Resumed {
  step: number;
  epoch: number;
  values: Readonly<Record<string, unknown>>;
  /** Ranks that saved it. */
  worldSize: number;
  /** When it was saved. */
  time: Date;
  /** Where it is: a folder, or `s3://bucket/prefix/checkpoint-…`. */
  path: string;
}

/**
 * Saves a training and resumes it (in the manner of torch.distributed.checkpoint): on as many ranks as before bit for bit as if it had never stopped.
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
 * `save`, `finished` and `resume` are collectives: every rank calls them, between steps, outside of `join`. Rank 0 writes and reads. What is saved is rank 0's, except for
 * what is registered `perRank` and for the random states of libraries (dropout's of `@ringrun/nn`), which register themselves.
 *
 * Not in a checkpoint, so not resumed bit for bit: what `Math.random` gives, error feedback of communication hooks (PowerSGD), and buffers that ranks do not share
 * (`broadcastBuffers: false`) unless the program registers them.
 */
export class Checkpointer {
  /** Where checkpoints are. */
  readonly location: string;
  readonly #storage: Storage;
  readonly #group: ProcessGroup | undefined;
  readonly #registry = new Registry();
  readonly #writes: Writes;
  readonly #lastSaved: LastSaved;

  /** Nothing is opened yet. Throws `InvalidArgumentError` for a `dir` that is no place for data or a file, or a `keep` below 1. */
  constructor(options: CheckpointerOptions) {
    requireOptions('Checkpointer', options, checkpointerOptions);
    const { dir, keep = 3, processGroup } = options;
    requireInteger(keep, { who: 'Checkpointer', what: 'keep', min: 1 });
    this.#storage = openStorage(dir);
    if (!isBucket(dir)) refuseFileAsFolder(dir, 'Checkpointer: dir');
    this.location = this.#storage.location;
    this.#group = processGroup;
    this.#lastSaved = new LastSaved(this.location);
    this.#writes = new Writes(this.location, keep, this.#lastSaved);
  }

  /**
   * Adds what checkpoints hold, by names of letters, digits, `_` and `-`, the same on every rank. A `DistributedDataParallel` stands for its model.
   *
   * @throws InvalidArgumentError for a name that is taken or has other characters, or an object without stateDict or loadStateDict; nothing is registered then
   */
  register(objects: Readonly<Record<string, unknown>>, options: RegisterOptions = {}): void {
    requireOptions('Checkpointer.register', options, registerOptions);
    const { perRank = false } = options;
    this.#registry.add(objects, perRank);
  }

  /**
   * Saves all that is registered; a collective. Resolves when it is copied, from when on everything may change: rank 0 writes in the background, once the
   * write before is over, which it waits for first and says so on stderr where that takes longer than 5 s. Then the oldest checkpoints are deleted.
   *
   * A process that ends meanwhile finishes the write first: after process.exit(), an uncaught error, or SIGTERM, SIGINT or SIGHUP without a handler of the program, it blocks for
   * the launcher's grace period (30 s by default) at most. A checkpoint that is lost all the same is reported on stderr, and the exit code is not 0.
   *
   * @throws CheckpointError on every rank: when the write before failed (`ERR_CHECKPOINT_NOT_WRITTEN`, with the cause; nothing is saved now, and what was there
   * before is still there), when another job writes to `dir` (`ERR_CHECKPOINT_IN_USE`, with its host and process), when a state could not be taken, or when ranks disagree on what they save.
   */
  async save(progress: Progress): Promise<void> {
    requireOptions('Checkpointer.save', progress, progressNames);
    const release = holdForSave(`Checkpointer.save of step ${progress.step}`);
    try {
      await this.#save(progress);
    } finally {
      release();
    }
  }

  /**
   * Resolves when all that was saved is written; a collective, for the end of a program. A program that ends without it waits for the write too, and exits
   * with code 1 if it fails.
   *
   * @throws CheckpointError `ERR_CHECKPOINT_NOT_WRITTEN` on every rank, as `save`
   */
  async finished(): Promise<void> {
    try {
      await this.#lastWrite(teamOf(this.#group), 'Checkpointer.finished');
    } finally {
      await this.#writes.disclaim();
    }
  }

  /**
   * Gives what is registered the state that was saved; a collective. Every rank looks at the folder; rank 0, or the first rank that sees the checkpoint, reads it and sends it to the
   * others. Reading may take any time: no collective's timeout counts it.
   *
   * @param from 'auto': the newest complete checkpoint in `dir`; where a file of it is not as it was written, that is said on stderr and the one before it is
   * taken; resolves with undefined where there is none yet. A path: that checkpoint, or the newest in that folder or below that prefix, and an error where
   * there is none. Undefined: nothing is resumed.
   * @throws CheckpointError, the same on every rank, and nothing has changed on any: `ERR_CHECKPOINT_NOT_FOUND`, `ERR_CHECKPOINT_DAMAGED` with the file and its hashes,
   * `ERR_CHECKPOINT_VERSION`, `ERR_CHECKPOINT_BEHIND` where 'auto' finds none as new as this job has saved (known under the launcher), `ERR_CHECKPOINT_MISFIT` with the first difference, `ERR_CHECKPOINT_NOT_READ` with the storage's reason
   */
  async resume(from?: string, options: ResumeOptions = {}): Promise<Resumed | undefined> {
    requireOptions('Checkpointer.resume', options, resumeOptions);
    const { strict = true } = options;
    if (from === undefined) return undefined;
    const team = teamOf(this.#group);
    await untilSettled(team, this.#writes.over('Checkpointer.resume'));
    const lastSaved = () => this.#lastSaved.read();
    const { found, highest } = await findTogether(team, { own: this.#storage, from, lastSaved });
    this.#writes.continueAbove(highest);
    if (found === undefined) return undefined;
    const { path, manifest, files } = found;
    const values = await loadTogether(team, `Checkpointer.resume from ${path}`, {
      registered: this.#registry.all(),
      files,
      strict,
    });
    const { step, epoch, worldSize, time } = manifest;
    return { step, epoch, values, worldSize, time: new Date(time), path };
  }

  /** The path of the newest complete checkpoint in `dir`, or undefined. Looks from this process, and reads none. */
  async latest(): Promise<string | undefined> {
    const entries = checkpointsAmong(await this.#storage.list(namePrefix));
    const newest = newestFirst(entries).at(0);
    return newest && `${this.location}/${newest.name}`;
  }

  async #save({ step, epoch = 0, values = {} }: Progress): Promise<void> {
    const team = teamOf(this.#group);
    const what = 'Checkpointer.save';
    await this.#lastWrite(team, what);
    const taking = attempt(async () => {
      for (const [name, value] of Object.entries({ step, epoch }))
        requireInteger(value, { who: 'Checkpointer.save', what: name, min: 0 });
      if (team.rank === 0) await this.#writes.claim();
      return await this.#registry.take(team.rank, values);
    });
    await untilSettled(team, taking);
    const parts = await requireSuccess(team, what, await taking, 'not written');
    await requireAgreement(team, what, `step ${step} of epoch ${epoch} with ${[...parts.keys()].join(', ')}`);
    const owns = await team.gatherObject(ownOf(parts));
    if (!owns) return;
    const occasion = { step, epoch, worldSize: team.size, time: new Date().toISOString() };
    this.#writes.begin(occasion, together(parts, owns));
  }

  /** Waits on rank 0 for what is being written; everybody hears of its failure. */
  async #lastWrite(team: Team, who: string): Promise<void> {
    await untilSettled(team, this.#writes.over(who));
    const failure = await team.broadcastObject(this.#writes.takeFailure());
    if (failure) throw sharedError(who, 0, failure, 'not written');
  }
}
