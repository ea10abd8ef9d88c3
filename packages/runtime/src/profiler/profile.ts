import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { measureClock, onClockOfRank0 } from '@ringrun/collectives';
import type { ClockOffset } from '@ringrun/collectives';
import {
  givenPath,
  InvalidArgumentError,
  makeFolderSync,
  recordActivity,
  registry,
  requireOptions,
  RingrunError,
} from '@ringrun/core';
import type { OptionNames, ProcessGroup } from '@ringrun/core';
import { currentState } from '../process-group/state.ts';
import { observeGroup } from './observe-group.ts';
import { Recorder, type Activity } from './recorder.ts';
import { schedule, type ProfilerAction } from './schedule.ts';
import { traceOf, type RankTrace } from './trace.ts';

/** Options of {@link profile}. */
export interface ProfileOptions {
  /** The file that rank 0 writes; its folder is created if missing. Ignored on other ranks. */
  path: string | URL;
  /**
   * The steps to record; see `schedule`. Default: 50 steps after the first 5, in which programs are compiled
   * (about 40 KB per rank).
   */
  schedule?: (step: number) => ProfilerAction;
}

const optionNames: OptionNames<ProfileOptions> = { path: true, schedule: true };

const defaultSchedule = schedule({ skipFirst: 5, wait: 0, active: 50, repeat: 1 });

/**
 * Starts recording a trace of all ranks (torch.profiler.profile), which ui.perfetto.dev and chrome://tracing
 * open. A collective; a process group is optional. It records the steps of the schedule, each ended by
 * `profiler.step()`: input (loops over `timedInput`), compute (programs of @ringrun/nn), communication
 * (operations of the groups that exist now), waiting (for averaged gradients), and functions of
 * `recordFunction`.
 *
 *     const profiler = await profile({ path: 'trace.json' });
 *     for await (const batch of timedInput(loader)) { …; await optimizer.step(); profiler.step(); }
 *     await profiler.stop();
 *
 * @throws InvalidArgumentError on every rank if rank 0 cannot write to the path; RingrunError
 * `ERR_PROFILE_UNDER_WAY` if another profiler is recording
 */
export async function profile(options: ProfileOptions): Promise<Profiler> {
  requireOptions('profile', options, optionNames);
  const { group, groups } = currentGroups();
  if (registry.activityObserver !== undefined || isProfiling) {
    throw new RingrunError(
      'ERR_PROFILE_UNDER_WAY',
      'profile: another profiler is recording. Await its stop() first.',
    );
  }
  const path = givenPath(options.path, 'profile: path');
  isProfiling = true;
  try {
    await requireWritable(path, group);
    const clock = group === undefined ? ownClock() : await measureClock(group);
    return new Profiler({ ...options, path }, { group, groups, clock });
  } catch (error) {
    isProfiling = false;
    throw error;
  }
}

let isProfiling = false;

interface Surroundings {
  /** The group of all ranks; undefined without one. */
  group: ProcessGroup | undefined;
  groups: readonly ProcessGroup[];
  clock: ClockOffset;
}

/** A profiler, returned by `profile`. It records until `stop`. */
export class Profiler {
  readonly #path: string;
  readonly #schedule: (step: number) => ProfilerAction;
  readonly #surroundings: Surroundings;
  readonly #recorder = new Recorder();
  readonly #unobserve: readonly (() => void)[];
  #step = 0;
  #stepStartedAt = performance.now();
  #stopped = false;

  /**
   * Called by `profile`.
   *
   * @internal
   */
  constructor(options: ProfileOptions & { path: string }, surroundings: Surroundings) {
    this.#path = options.path;
    this.#schedule = options.schedule ?? defaultSchedule;
    this.#surroundings = surroundings;
    this.#unobserve = surroundings.groups.map(observeGroup);
    this.#recordIfScheduled();
  }

  /** Ends a step (torch.profiler.profile.step). */
  step(): void {
    if (this.#stopped) return;
    const now = performance.now();
    recordActivity('step', `step ${this.#step}`, this.#stepStartedAt, now);
    this.#step += 1;
    this.#stepStartedAt = now;
    this.#recordIfScheduled();
  }

  /**
   * Stops recording and gathers the activities of all ranks; rank 0 writes the file. A collective. Calling it
   * again does nothing.
   *
   * @throws the file system's error on rank 0 if the file cannot be written; the errors of collectives
   */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#recorder.stop();
    for (const unobserve of this.#unobserve) unobserve();
    isProfiling = false;
    const { group } = this.#surroundings;
    const own = await this.#ownTrace(group);
    const ranks = group === undefined ? [own] : await group.gatherObject(own);
    if (ranks === undefined) return;
    await writeWhole(this.#path, JSON.stringify(traceOf(ranks)));
    if (ranks.every(({ activities }) => activities.length === 0)) this.#warnAboutEmptyTrace();
  }

  #recordIfScheduled(): void {
    const records = this.#schedule(this.#step) === 'record';
    if (records === this.#recorder.isRecording) return;
    if (records) this.#recorder.start(this.#stepStartedAt);
    else this.#recorder.stop();
  }

  #warnAboutEmptyTrace(): void {
    process.stderr.write(
      `ringrun: the trace ${this.#path} has no steps: the schedule includes none of the ${this.#step} steps of this run. ` +
        'Train for more steps, or record earlier: schedule({ wait: 0, active: 50 }).\n',
    );
  }

  async #ownTrace(group: ProcessGroup | undefined): Promise<RankTrace> {
    const { clock: first } = this.#surroundings;
    const last = group === undefined ? first : await measureClock(group);
    const onOneClock = (activity: Activity): Activity => ({
      ...activity,
      startedAt: onClockOfRank0(activity.startedAt, first, last),
      endedAt: onClockOfRank0(activity.endedAt, first, last),
    });
    return {
      rank: group?.rank ?? 0,
      host: hostname(),
      pid: process.pid,
      activities: this.#recorder.activities.map(onOneClock),
      dropped: this.#recorder.dropped,
      clockErrorMs: Math.max(first.roundTrip, last.roundTrip) / 2,
    };
  }
}

function ownClock(): ClockOffset {
  return { at: performance.now(), offset: 0, roundTrip: 0 };
}

function currentGroups(): Pick<Surroundings, 'group' | 'groups'> {
  const state = currentState();
  if (state.phase !== 'ready') return { group: undefined, groups: [] };
  return { group: state.session.group, groups: state.subgroups.all() };
}

/**
 * Checks before training that rank 0 can write the file. Throws on every rank, so that no rank waits for one
 * that has failed.
 */
async function requireWritable(path: string, group: ProcessGroup | undefined): Promise<void> {
  const own = group === undefined || group.rank === 0 ? problemOf(path) : undefined;
  const problem = group === undefined ? own : await group.broadcastObject(own);
  if (problem === undefined) return;
  throw new InvalidArgumentError(
    `profile: rank 0 cannot write the trace to ${path} (${problem}). Pass a path in a folder that it can write to.`,
  );
}

/** Creates the folder of a file. Returns the reason if the file could not be written. */
function problemOf(path: string): string | undefined {
  try {
    const folder = dirname(resolve(path));
    makeFolderSync(folder);
    if (!existsSync(path)) accessSync(folder, constants.W_OK);
    else if (statSync(path).isDirectory()) return 'it is a folder';
    else accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Writes atomically: readers see the old file or the complete new one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(unfinished, text);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw error;
  }
}
