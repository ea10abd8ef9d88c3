import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import {
  InvalidArgumentError,
  RingrunError,
  type ProcessGroup,
  requireOptions,
  type OptionNames,
} from '@ringrun/collectives';
import { currentState } from '../process-group/state.ts';
import { makeFolderSync } from '../storage/make-folder.ts';
import { recorder, tell } from './activity.ts';
import { measureClock, onClockOfRank0, type ClockOffset } from './clock.ts';
import { observeGroup } from './observe-group.ts';
import { Recorder, type Activity } from './recorder.ts';
import { schedule, type ProfilerAction } from './schedule.ts';
import { traceOf, type RankTrace } from './trace.ts';

export interface ProfileOptions {
  /** The file that rank 0 writes; its folder is made where it is missing. What other ranks give is not looked at. */
  path: string;
  /**
   * Which steps are recorded; unless given, 50 steps after the first 5, in which programs are compiled: some 40 KB for each rank. See `schedule`.
   */
  schedule?: (step: number) => ProfilerAction;
}

const optionNames: OptionNames<ProfileOptions> = { path: true, schedule: true };

const defaultSchedule = schedule({ skipFirst: 5, wait: 0, active: 50, repeat: 1 });

/**
 * Begins to measure what every rank does, for one trace that browsers' viewers open (torch.profiler.profile): ui.perfetto.dev, chrome://tracing. A collective, with or
 * without a process group. Recorded are the steps that the schedule names, of which `profiler.step()` ends each: input (loops over `timedInput`), compute (programs of
 * @ringrun/nn), communication (operations of the groups that exist now), waiting (for averaged gradients), and what `recordFunction` names.
 *
 *     const profiler = await profile({ path: 'trace.json' });
 *     for await (const batch of timedInput(loader)) { …; await optimizer.step(); profiler.step(); }
 *     await profiler.stop();
 *
 * @throws InvalidArgumentError, on every rank, for a path that rank 0 cannot write to; RingrunError `ERR_PROFILE_UNDER_WAY` where another profiler measures
 */
export async function profile(options: ProfileOptions): Promise<Profiler> {
  requireOptions('profile', options, optionNames);
  const { group, groups } = groupsNow();
  if (recorder() !== undefined || underWay) {
    throw new RingrunError(
      'ERR_PROFILE_UNDER_WAY',
      'profile was called while another profiler measures: await its stop() first.',
    );
  }
  underWay = true;
  try {
    await requireWritable(options.path, group);
    const clock = group === undefined ? ownClock() : await measureClock(group);
    return new Profiler(options, { group, groups, clock });
  } catch (error) {
    underWay = false;
    throw error;
  }
}

let underWay = false;

interface Surroundings {
  /** Of all ranks; undefined for a process without one. */
  group: ProcessGroup | undefined;
  groups: readonly ProcessGroup[];
  clock: ClockOffset;
}

/** What `profile` gives: measures until `stop`. */
export class Profiler {
  readonly #path: string;
  readonly #schedule: (step: number) => ProfilerAction;
  readonly #surroundings: Surroundings;
  readonly #recorder = new Recorder();
  readonly #unobserve: readonly (() => void)[];
  #step = 0;
  #stepStartedAt = performance.now();
  #stopped = false;

  /** Made by `profile`. */
  constructor(options: ProfileOptions, surroundings: Surroundings) {
    this.#path = options.path;
    this.#schedule = options.schedule ?? defaultSchedule;
    this.#surroundings = surroundings;
    this.#unobserve = surroundings.groups.map(observeGroup);
    this.#recordIfScheduled();
  }

  /** A step is over (torch.profiler.profile.step). */
  step(): void {
    if (this.#stopped) return;
    const now = performance.now();
    tell('step', `step ${this.#step}`, this.#stepStartedAt, now);
    this.#step += 1;
    this.#stepStartedAt = now;
    this.#recordIfScheduled();
  }

  /**
   * Ends the measurement and gathers what every rank has recorded; rank 0 writes the file. A collective. Calling it again does nothing.
   *
   * @throws the file system's error on rank 0 where the file cannot be written; the errors of collectives
   */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#recorder.stop();
    for (const unobserve of this.#unobserve) unobserve();
    underWay = false;
    const { group } = this.#surroundings;
    const own = await this.#ownTrace(group);
    const ranks = group === undefined ? [own] : await group.gatherObject(own);
    if (ranks === undefined) return;
    await writeWhole(this.#path, JSON.stringify(traceOf(ranks)));
    if (ranks.every(({ activities }) => activities.length === 0)) this.#sayThatItIsEmpty();
  }

  #recordIfScheduled(): void {
    const shall = this.#schedule(this.#step) === 'record';
    if (shall === this.#recorder.isRecording) return;
    if (shall) this.#recorder.start(this.#stepStartedAt);
    else this.#recorder.stop();
  }

  #sayThatItIsEmpty(): void {
    process.stderr.write(
      `ringrun: nothing was recorded in ${this.#path}: the schedule names none of the ${this.#step} steps that there were. ` +
        'Train longer, or record earlier: schedule({ wait: 0, active: 50 }).\n',
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

function groupsNow(): Pick<Surroundings, 'group' | 'groups'> {
  const state = currentState();
  if (state.phase !== 'ready') return { group: undefined, groups: [] };
  return { group: state.session.group, groups: state.subgroups.all() };
}

/** Before training, rather than after hours of it; on every rank what rank 0 finds, so that none waits for others that have given up. */
async function requireWritable(path: string, group: ProcessGroup | undefined): Promise<void> {
  const own = group === undefined || group.rank === 0 ? problemOf(path) : undefined;
  const problem = group === undefined ? own : await group.broadcastObject(own);
  if (problem === undefined) return;
  throw new InvalidArgumentError(
    `profile: rank 0 cannot write the trace to ${path} (${problem}). Give a path in a folder that it can write to.`,
  );
}

/** Why a file could not be written; makes its folder. */
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

/** Readers see the file of before or the whole new one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}.tmp`;
  await writeFile(unfinished, text);
  await rename(unfinished, path);
}
