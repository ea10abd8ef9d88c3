import type { Store } from '@ringrun/core';
import { PrefixStore } from '../store/prefix-store.ts';
import { deletePrefix } from '../store/delete-prefix.ts';
import { peek, peekAll } from '../store/peek.ts';
import type { Decision, Formation, Process, Report, Situation } from './decide.ts';
import { packFormation, unpackFormation } from './packed-formation.ts';
import type { PackedFormation } from './packed-formation.ts';

/** A decision that ends a generation. */
export type Verdict = Exclude<Decision, { kind: 'wait' }>;

/** The newest verdict of a job, with the number of the generation that it begins or prevents. */
export interface NumberedVerdict {
  readonly generation: number;
  readonly verdict: Verdict;
}

/**
 * The phase of a fault-tolerant job. `training`: ranks make steps, and processes may join. `ending`: a rank has left after its
 * last step, so the others have made theirs or have its result, and write their results. No process joins, and dead ranks are
 * not replaced.
 */
export type JobPhase = 'training' | 'ending';

/** The fault-tolerant job of a store. */
export interface Job {
  /** Distinguishes jobs that follow each other in one store. */
  readonly id: string;
  readonly generation: number;
  readonly phase: JobPhase;
  /** The processes of the current group. */
  readonly members: readonly Process[];
  readonly masterAddress: string;
  /** Timeout of the group, after which a rank counts as stuck; null if it has none. */
  readonly timeoutMs: number | null;
}

const currentKey = 'recovery/current';

/** Keys below those of a job. `forgotten`: the number of generations whose keys are deleted. */
const verdictKey = 'verdict';
const forgottenKey = 'forgotten';
const generationPrefix = (generation: number) => `generation/${generation}/`;

/** A job, and its members that have neither left nor died. */
export interface JobWithLiving extends Job {
  readonly living: readonly Process[];
}

/** The last fault-tolerant job that was formed with this store. It may have ended. */
export async function readJob(store: Store): Promise<JobWithLiving | undefined> {
  const text = await peek(store, currentKey);
  if (text === undefined) return undefined;
  const job = JSON.parse(text) as Job;
  const keys = new RecoveryKeys(store, job.id);
  return { ...job, living: await keys.presentAmong(job.members) };
}

/**
 * Like `readJob`; waits until the first one has begun.
 *
 * @throws StoreTimeoutError
 */
export async function firstJob(store: Store, timeoutMs: number): Promise<JobWithLiving | undefined> {
  await store.wait([currentKey], { timeoutMs });
  return await readJob(store);
}

/** Whether a process that starts now may join. */
export function isJoinable({ phase, living }: JobWithLiving): boolean {
  return phase === 'training' && living.length > 0;
}

/**
 * The part of the job's store through which its processes agree on the next generation. The number of keys does not grow with
 * the number of generations: rank 0 deletes those of earlier ones, and a launcher those of its processes that have ended.
 */
export class RecoveryKeys {
  /** Keys of this job alone. */
  readonly #keys: Store;
  readonly #store: Store;
  readonly #id: string;

  constructor(store: Store, id: string) {
    this.#store = store;
    this.#id = id;
    this.#keys = new PrefixStore(`recovery/${id}`, store);
  }

  /** Store of the group of a generation. */
  groupStore(generation: number): Store {
    return new PrefixStore(`${generationPrefix(generation)}group`, this.#keys);
  }

  /** Begins a generation: the job is in training, and processes may join. */
  async setCurrent(job: Pick<Job, 'generation' | 'members' | 'masterAddress' | 'timeoutMs'>): Promise<void> {
    const begun: Job = { ...job, id: this.#id, phase: 'training' };
    await this.#store.set(currentKey, JSON.stringify(begun));
  }

  /**
   * Ends the training, for a member of the generation that leaves after its last step. Has no effect on a later generation,
   * whose members continue without it.
   */
  async endTraining(generation: number): Promise<void> {
    for (;;) {
      const before = await peek(this.#store, currentKey);
      if (before === undefined) return;
      const job = JSON.parse(before) as Job;
      if (job.id !== this.#id || job.generation !== generation || job.phase === 'ending') return;
      const ending: Job = { ...job, phase: 'ending' };
      await this.#store.compareSet(currentKey, before, JSON.stringify(ending));
    }
  }

  /** Records the report of a process, which abandons the previous generation with it. */
  async report(generation: number, { token }: Process, report: Report): Promise<void> {
    const prefix = generationPrefix(generation);
    await this.#keys.multiSet(
      [`${prefix}report/${token}`, `${prefix}abandoned`],
      [JSON.stringify(report), ''],
    );
  }

  /** Records that the previous generation cannot be formed. */
  async setAbandoned(generation: number): Promise<void> {
    await this.#keys.set(`${generationPrefix(generation)}abandoned`, '');
  }

  /** Whether a process has abandoned the previous generation. Waits for it, at most so many milliseconds. */
  async isAbandoned(generation: number, withinMs: number): Promise<boolean> {
    return (await peek(this.#keys, `${generationPrefix(generation)}abandoned`, withinMs)) !== undefined;
  }

  /** Whether the process has died, has left, or seems to be dead to a member of the previous generation. */
  async isMissing(generation: number, { token }: Process): Promise<boolean> {
    const blamedOrLeft = [`${generationPrefix(generation)}blamed/${token}`, `left/${token}`];
    const [found, isGone] = await Promise.all([
      peekAll(this.#keys, blamedOrLeft),
      this.#store.check([goneKey(token)]),
    ]);
    return isGone || found.some((value) => value !== undefined);
  }

  /**
   * Makes a process the one that decides on the generation, if `before` is now: '' before the first, otherwise one that has died.
   * Returns the token of the process that decides.
   */
  async electDecider(generation: number, before: string, { token }: Process): Promise<string> {
    const elected = await this.#keys.compareSet(`${generationPrefix(generation)}decider`, before, token);
    return Buffer.from(elected).toString('utf8');
  }

  /** The process that decides on a generation, undefined if its keys were deleted, and its sign of life. */
  async decider(generation: number, { token }: Process): Promise<(string | undefined)[]> {
    return await peekAll(this.#keys, [`${generationPrefix(generation)}decider`, `alive/${token}`]);
  }

  /** Publishes a recorded verdict for the members of the previous generation. */
  async publish({ generation, verdict }: NumberedVerdict, before: readonly Process[]): Promise<void> {
    const decided = verdict.kind === 'fail' ? verdict : packFormation(verdict, before);
    await this.#keys.set(`${generationPrefix(generation)}decided`, JSON.stringify(decided));
  }

  /** The published verdict. Undefined if there is none within so many milliseconds. */
  async published(
    generation: number,
    before: readonly Process[],
    withinMs: number,
  ): Promise<NumberedVerdict | undefined> {
    const text = await peek(this.#keys, `${generationPrefix(generation)}decided`, withinMs);
    if (text === undefined) return undefined;
    const decided = JSON.parse(text) as PackedFormation | Exclude<Verdict, Formation>;
    return { generation, verdict: decided.kind === 'fail' ? decided : unpackFormation(decided, before) };
  }

  /** The reports of the processes that have left the previous generation. */
  async reports(generation: number, members: readonly Process[]): Promise<Map<string, Report>> {
    return await this.#ofEach(
      members,
      (token) => `${generationPrefix(generation)}report/${token}`,
      (text) => JSON.parse(text) as Report,
    );
  }

  /** Undefined in generation 0. */
  async newestVerdict(): Promise<NumberedVerdict | undefined> {
    return parseVerdict((await peek(this.#keys, verdictKey)) ?? '');
  }

  /**
   * Records the verdict on a generation, unless one on it or on a later one exists. Returns the newest. A process that was stopped
   * meanwhile has no effect, however late it is.
   */
  async propose(generation: number, verdict: Verdict): Promise<NumberedVerdict> {
    const before = (await peek(this.#keys, verdictKey)) ?? '';
    const newest = parseVerdict(before);
    if (newest !== undefined && newest.generation >= generation) return newest;
    const proposed: NumberedVerdict = { generation, verdict };
    const recorded = await this.#keys.compareSet(verdictKey, before, JSON.stringify(proposed));
    return parseVerdict(Buffer.from(recorded).toString('utf8'))!;
  }

  /**
   * Deletes the keys of the generations before this one, whose members have all formed their group. A process that is late finds
   * the newest verdict.
   */
  async forgetBefore(generation: number): Promise<void> {
    const first = Number((await peek(this.#keys, forgottenKey)) ?? 0);
    for (let old = first; old < generation; old += 1) await deletePrefix(this.#keys, generationPrefix(old));
    await this.#keys.set(forgottenKey, String(generation));
  }

  /**
   * Deletes the keys of a process that has ended. Neither the current members nor later ones include it, and a later process of
   * the same rank has joined.
   */
  async forget(token: string): Promise<void> {
    await this.removeWaiting(token);
    // Ends the wait of its launcher.
    await this.#store.set(removedKey(token), '');
    await this.#store.deleteKey(removedKey(token));
    await this.#store.deleteKey(goneKey(token));
    for (const kind of ['left', 'departed', 'admitted', 'alive'])
      await this.#keys.deleteKey(`${kind}/${token}`);
  }

  /** Records that processes of the previous generation seem to be dead. */
  async setBlamed(generation: number, processes: readonly Process[]): Promise<void> {
    if (processes.length === 0) return;
    await this.#keys.multiSet(
      processes.map(({ token }) => `${generationPrefix(generation)}blamed/${token}`),
      processes.map(() => ''),
    );
  }

  /** Records that this process leaves the job after `committed` transactions. */
  async setLeft({ token }: Process, committed: number): Promise<void> {
    await this.#keys.set(`left/${token}`, String(committed));
  }

  /** Records that the others continue without processes that have not left, so that their launchers end them. */
  async setRemoved(processes: readonly Process[]): Promise<void> {
    if (processes.length === 0) return;
    await this.#store.multiSet(
      processes.map(({ token }) => removedKey(token)),
      processes.map(() => ''),
    );
  }

  /** Those of the processes that have neither died nor left. */
  async presentAmong(processes: readonly Process[]): Promise<Process[]> {
    const [gone, left] = await Promise.all([
      this.#goneAmong(processes),
      this.#ofEach(processes, (token) => `left/${token}`, Number),
    ]);
    return processes.filter(({ token }) => !gone.has(token) && !left.has(token));
  }

  async isGone(token: string): Promise<boolean> {
    return (await this.#store.check([goneKey(token)])) || (await this.hasLeft(token));
  }

  async hasLeft(token: string): Promise<boolean> {
    return await this.#keys.check([`left/${token}`]);
  }

  /** Records that this process, which has left, is no longer in the group: it only runs its own code from now on. */
  async setDeparted({ token }: Process): Promise<void> {
    await this.#keys.set(`departed/${token}`, '');
  }

  async hasDeparted(token: string): Promise<boolean> {
    return await this.#keys.check([`departed/${token}`]);
  }

  /** Records that a process that was started later is now a rank. */
  async setAdmitted({ token }: Process): Promise<void> {
    await this.#keys.set(`admitted/${token}`, '');
  }

  async wasAdmitted(token: string): Promise<boolean> {
    return await this.#keys.check([`admitted/${token}`]);
  }

  async waitUntilLeft(members: readonly Process[], timeoutMs: number): Promise<void> {
    await this.#keys.wait(
      members.map(({ token }) => `left/${token}`),
      { timeoutMs },
    );
  }

  async situation(
    generation: number,
    members: readonly Process[],
    isDead: (one: Process) => boolean,
    minRanks: number,
  ): Promise<Situation> {
    const [left, gone, blamed, waiting] = await Promise.all([
      this.#ofEach(members, (token) => `left/${token}`, Number),
      this.#goneAmong(members),
      this.#ofEach(
        members,
        (token) => `${generationPrefix(generation)}blamed/${token}`,
        () => true,
      ),
      this.waiting(),
    ]);
    // Read last, so that a rank that was blamed for leaving the group has already reported.
    const reports = await this.reports(generation, members);
    const living = (await this.#stillWaiting(waiting)).filter((one) => !isDead(one));
    const seenDead = members.filter(isDead).map(({ token }) => token);
    const dead = new Set([...gone, ...blamed.keys(), ...seenDead]);
    return { members, reports, left, dead, waiting: living, minRanks };
  }

  /** The signs of life of the processes, in their order. */
  async signsOfLife(processes: readonly Process[]): Promise<(string | undefined)[]> {
    return await peekAll(
      this.#keys,
      processes.map(({ token }) => `alive/${token}`),
    );
  }

  async setSignOfLife({ token }: Process, count: number): Promise<void> {
    await this.#keys.set(`alive/${token}`, String(count));
  }

  /** Processes that want to join, in the order of their requests. */
  async waiting(): Promise<Process[]> {
    const text = await peek(this.#keys, 'waiting');
    return text === undefined || text === '' ? [] : (JSON.parse(text) as Process[]);
  }

  async addWaiting(one: Process): Promise<void> {
    await this.#changeWaiting((all) => [...all.filter(({ token }) => token !== one.token), one]);
  }

  async removeWaiting(removed: string): Promise<void> {
    await this.#changeWaiting((all) => all.filter(({ token }) => token !== removed));
  }

  /** Those of the processes that have not ended. */
  async #stillWaiting(waiting: readonly Process[]): Promise<Process[]> {
    if (waiting.length === 0) return [];
    const ended = await this.#goneAmong(waiting);
    // A process whose keys were deleted meanwhile was removed from the list before.
    const now = new Set((await this.waiting()).map(({ token }) => token));
    return waiting.filter(({ token }) => !ended.has(token) && now.has(token));
  }

  async #changeWaiting(change: (all: Process[]) => Process[]): Promise<void> {
    for (;;) {
      const before = (await peek(this.#keys, 'waiting')) ?? '';
      const after = JSON.stringify(change(before === '' ? [] : (JSON.parse(before) as Process[])));
      if (after === before) return;
      const found = await this.#keys.compareSet('waiting', before, after);
      if (Buffer.from(found).toString('utf8') === after) return;
    }
  }

  async #goneAmong(processes: readonly Process[]): Promise<Set<string>> {
    const gone = await peekAll(
      this.#store,
      processes.map(({ token }) => goneKey(token)),
    );
    return new Set(processes.flatMap(({ token }, i) => (gone[i] === undefined ? [] : [token])));
  }

  async #ofEach<T>(
    processes: readonly Process[],
    keyOf: (token: string) => string,
    read: (text: string) => T,
  ): Promise<Map<string, T>> {
    const texts = await peekAll(
      this.#keys,
      processes.map(({ token }) => keyOf(token)),
    );
    return new Map(
      processes.flatMap(({ token }, i): [string, T][] => {
        const text = texts[i];
        return text === undefined ? [] : [[token, read(text)]];
      }),
    );
  }
}

function parseVerdict(text: string): NumberedVerdict | undefined {
  return text === '' ? undefined : (JSON.parse(text) as NumberedVerdict);
}

/** Written by the launcher when the process has ended. */
export function goneKey(token: string): string {
  return `recovery/gone/${token}`;
}

/** Written by the ranks that continue without a process, which may still run. */
export function removedKey(token: string): string {
  return `recovery/removed/${token}`;
}
