import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { builtScript } from '../../support/built-script.ts';
import { launch, node } from '../../support/command.ts';
import type { Command, Ended } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import type { Mark, Phase } from '../fixtures/mark.ts';
import { Marks } from './marks.ts';

const script = 'faults/kills.script';

/** The phase in which a victim is killed, with the maximum milliseconds from its mark to the kill. */
export const delaysMs = {
  start: 250,
  rendezvous: 20,
  forming: 15,
  step: 8,
  checkpoint: 15,
  exit: 8,
} satisfies Partial<Record<Phase, number>>;
export type KillPhase = keyof typeof delaysMs;
export const killPhases = Object.keys(delaysMs) as KillPhase[];

/** Milliseconds without the next event after which a job counts as hanging. A claim of a silent rank lives for 10 s. */
const patienceMs = 90_000;
/** Milliseconds after which the processes of a job are killed. */
const limitMs = 1_200_000;

export interface Kill {
  rank: number;
  pid: number;
  /** The last mark before the death. */
  phase: Phase;
  /** Milliseconds until the first step of the next group. NaN if there is none. */
  recoveryMs: number;
}

export interface KilledJob {
  kills: Kill[];
  /** The seed, and the settings derived from it. */
  description: string;
  /** Violated expectations, with the last marks of the ranks. */
  failures: string[];
}

/**
 * Runs one job, kills its ranks in all phases, and checks all expectations. Everything except the arrival time of
 * signals follows from the seed.
 */
export async function runKilledJob(place: string, seed: number, kills: number): Promise<KilledJob> {
  const random = randomNumbers(seed);
  const folder = mkdtempSync(join(place, `${seed}-`));
  for (const name of ['tmp', 'checkpoints']) mkdirSync(join(folder, name));
  const settings = { folder, seed, random, kills };
  const job = seed % 2 === 0 ? new LaunchedJob(settings) : new JobByHand(settings);
  const failures: string[] = [];
  try {
    await job.run();
    job.check();
  } catch (error) {
    failures.push(`${job.description}: ${String(error)}\n${job.history()}`);
  } finally {
    job.close();
  }
  return { kills: job.deathsByPhase(), description: job.description, failures };
}

interface JobSettings {
  folder: string;
  seed: number;
  random: () => number;
  kills: number;
}

interface Death {
  rank: number;
  pid: number;
  at: number;
}

abstract class Job {
  readonly description: string;
  protected readonly folder: string;
  protected readonly size: number;
  protected readonly kills: number;
  protected readonly env: Record<string, string | number>;
  protected readonly marks: Marks;
  protected readonly deaths: Death[] = [];
  readonly #random: () => number;
  readonly #arrivals = new Map<Mark, number>();
  readonly #deck: KillPhase[];

  constructor({ folder, seed, random, kills }: JobSettings, how: string) {
    this.folder = folder;
    this.kills = kills;
    this.#random = random;
    this.size = 2 + this.below(3);
    const transport = random() < 0.5 ? 'shm' : 'tcp';
    this.env = { TMPDIR: join(folder, 'tmp'), RINGRUN_TRANSPORT: transport };
    this.description = `seed ${seed} (${this.size} ranks ${how}, ${transport})`;
    this.marks = new Marks(folder, (mark) => this.#arrivals.set(mark, performance.now()));
    this.#deck = shuffled(killPhases, random);
  }

  /** Makes all kills, and lets the training end. */
  abstract run(): Promise<void>;
  /** Whether the message of a survivor names a dead process. */
  abstract namesDeath(message: string): boolean;

  close(): void {
    this.marks.close();
  }

  deathsByPhase(): Kill[] {
    return this.deaths.map(({ rank, pid, at }) => {
      const next = this.marks.all.find(
        (mark) => mark.phase === 'step' && mark.pid !== pid && this.#arrivals.get(mark)! > at + 100,
      );
      const recoveryMs = next ? this.#arrivals.get(next)! - at : NaN;
      return { rank, pid, phase: this.marks.last(pid)?.phase ?? 'start', recoveryMs };
    });
  }

  check(): void {
    const { all } = this.marks;
    expect(all.filter(({ phase }) => phase === 'wrong')).toEqual([]);
    const unnamed = all.filter(({ phase, message }) => phase === 'error' && !this.namesDeath(message!));
    const described = unnamed.map(({ rank, pid, message }) => `rank ${rank} (pid ${pid}): ${message}`);
    if (described.length > 0) throw new Error(`errors that name no dead rank:\n${described.join('\n')}`);
    const left = all.filter(({ phase }) => phase === 'left');
    expect(
      left.filter(({ shared }) => shared! > 0),
      'mappings of destroyed groups',
    ).toEqual([]);
    const steps = left.map(({ step }) => step!);
    expect(steps, 'steps at the end of rounds').toEqual(steps.toSorted((a, b) => a - b));
    expect(readdirSync(join(this.folder, 'tmp')), 'left in TMPDIR').toEqual([]);
  }

  history(): string {
    const kills = this.deaths.map((death) => JSON.stringify({ ...death, phase: 'KILLED' }));
    const marks = this.marks.all
      .slice(-60)
      .map((mark) => JSON.stringify({ at: Math.round(this.#arrivals.get(mark)!), ...mark }));
    return [...kills, ...marks].join('\n');
  }

  /** Makes the current round of the training the last one. */
  protected finish(): void {
    writeFileSync(join(this.folder, 'finish'), '');
  }

  /** All ranks have made the same steps, and no unfinished file of a checkpoint is left. */
  protected checkEnd(): void {
    const ends = this.marks.all.filter(({ phase }) => phase === 'left').slice(-this.size);
    expect(ends.map(({ rank }) => rank).toSorted(), 'ranks of the last round').toEqual([
      ...Array(this.size).keys(),
    ]);
    expect(new Set(ends.map(({ step }) => step)).size, 'ends of the ranks').toBe(1);
    const files = readdirSync(join(this.folder, 'checkpoints'), { recursive: true }) as string[];
    expect(
      files.filter((file) => file.endsWith('.part')),
      'unfinished files',
    ).toEqual([]);
  }

  /** A whole number from 0 to `count` − 1. */
  protected below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  protected pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)];
  }

  /** The phase of the next kill. Every phase has its turn. */
  protected nextPhase(): KillPhase {
    return this.#deck[this.deaths.length % this.#deck.length];
  }

  /** Waits for a mark that fits, and kills its process a random time later. `act` makes the mark possible. */
  protected async killAfter(
    phase: KillPhase,
    fits: (mark: Mark) => boolean,
    act: () => void,
    pidOf = ({ pid }: Mark) => pid,
  ): Promise<Death> {
    let others = phase === 'step' ? this.below(6) : 0;
    const delayMs = this.#random() * delaysMs[phase];
    const marked = this.marks.next((mark) => mark.phase === phase && fits(mark) && others-- === 0);
    act();
    const mark = await within(`a rank to be in phase ${phase}`, marked);
    await delay(delayMs);
    const death = { rank: mark.rank, pid: pidOf(mark), at: performance.now() };
    this.deaths.push(death);
    process.kill(death.pid, 'SIGKILL');
    return death;
  }
}

/** Ranks started without a launcher: the survivors join again, with a process that replaces the dead one. */
class JobByHand extends Job {
  readonly #ranks: (Command | undefined)[];
  /** Whether nothing replaces the last victim, so that the survivors fail. */
  readonly #isAbandoned: boolean;
  #port: number | undefined;

  constructor(settings: JobSettings) {
    super(settings, 'started by hand');
    this.#ranks = new Array<undefined>(this.size).fill(undefined);
    this.#isAbandoned = this.below(3) === 0;
    if (this.below(2) === 0) this.env['RINGRUN_SECRET'] = `the secret of job ${settings.seed}`;
  }

  async run(): Promise<void> {
    this.#port = await freePort();
    const replaced = this.#isAbandoned ? this.kills - 1 : this.kills;
    while (this.deaths.length < replaced) await this.#kill(this.nextPhase());
    if (this.#isAbandoned) {
      await this.#abandon();
      return;
    }
    this.finish();
    this.#startMissing();
    for (const rank of this.#ranks) endsWell(await within('the ranks to finish', rank!.ended));
    this.checkEnd();
  }

  namesDeath(message: string): boolean {
    const rank0Died = this.deaths.some(({ rank }) => rank === 0);
    if (rank0Died && message.includes('Rank 0, which serves the store, ')) return true;
    const absent = new RegExp(` for rank ${this.deaths.at(-1)?.rank} (of ${this.size} )?to join`);
    if (this.#isAbandoned && absent.test(message)) return true;
    return this.deaths.some(({ rank, pid }) =>
      message.includes(`${rank} (host ${hostname()}, pid ${pid}) is gone`),
    );
  }

  async #kill(phase: KillPhase): Promise<void> {
    const dead = [...this.#ranks.keys()].filter((rank) => this.#ranks[rank] === undefined);
    const rank = phase === 'start' ? this.pick(dead) : this.below(this.size);
    const fits = (mark: Mark) => mark.rank === rank;
    const { pid } = await this.killAfter(phase, fits, () => {
      this.#startMissing();
    });
    const { signal, left } = await within(`process ${pid} to die`, this.#ranks[rank]!.ended);
    expect({ signal, left }).toEqual({ signal: 'SIGKILL', left: [] });
    this.#ranks[rank] = undefined;
  }

  /** Kills a rank that nothing replaces, after all ranks have joined with a short timeout. */
  async #abandon(): Promise<void> {
    writeFileSync(join(this.folder, 'abandoned'), '');
    const marks = this.#ranks.map((_, rank) =>
      this.marks.next((mark) => mark.rank === rank && mark.phase === 'rendezvous'),
    );
    this.#startMissing();
    await within('all ranks to join', Promise.all(marks));
    const phase = this.nextPhase();
    await this.#kill(phase === 'start' ? 'rendezvous' : phase);
    for (const survivor of this.#ranks.filter((rank) => rank !== undefined)) {
      const { code, left } = await within('the survivors to fail', survivor.ended);
      expect({ code, left }).toEqual({ code: 1, left: [] });
    }
  }

  #startMissing(): void {
    for (const [rank, running] of this.#ranks.entries()) {
      const place = { RANK: rank, WORLD_SIZE: this.size, MASTER_ADDR: '127.0.0.1', MASTER_PORT: this.#port! };
      this.#ranks[rank] =
        running ??
        node([builtScript(script), this.folder, 'join again'], { env: { ...this.env, ...place }, limitMs });
    }
  }
}

/** Ranks under a launcher, which restarts them all after a death. */
class LaunchedJob extends Job {
  /** The last death. */
  readonly #last: 'is restarted' | 'uses up the restarts' | 'is that of the launcher';

  constructor(settings: JobSettings) {
    super(settings, 'under the launcher');
    this.#last = this.pick(['is restarted', 'uses up the restarts', 'is that of the launcher']);
  }

  async run(): Promise<void> {
    const restarted = this.#last === 'is restarted' ? this.kills : this.kills - 1;
    let launcher: Command | undefined;
    const start = () => {
      launcher ??= this.#launch(restarted);
    };
    while (this.deaths.length < restarted) await this.#kill(start);
    if (this.#last === 'is that of the launcher') {
      await this.#kill(start, () => launcher!.pid);
      const { signal, left } = await within('the ranks of a killed launcher to end', launcher!.ended);
      expect({ signal, left }).toEqual({ signal: 'SIGKILL', left: [] });
    } else if (this.#last === 'uses up the restarts') {
      await this.#kill(start);
      const { code, left, stderr } = await within('the job to fail', launcher!.ended);
      expect({ code, left }, stderr).toEqual({ code: 137, left: [] });
      expect(stderr.trimEnd().split('\n').at(-1)).toContain(rootCause(this.deaths.at(-1)!));
    }
    this.finish();
    if (this.#last !== 'is restarted') launcher = this.#launch(0);
    const ended = await within('the training to end', launcher!.ended);
    endsWell(ended);
    this.checkEnd();
    if (this.#last === 'is restarted')
      for (const death of this.deaths) expect(ended.stderr).toContain(rootCause(death));
  }

  namesDeath(message: string): boolean {
    // The workers of a killed launcher end, and so does its store.
    const { all } = this.marks;
    const isOfLauncher = this.#last === 'is that of the launcher';
    if (isOfLauncher && message.includes('The store at 127.0.0.1:')) return true;
    const dead = isOfLauncher ? [...this.deaths, ...all] : this.deaths;
    return dead.some(({ rank, pid }) => message.includes(`${rank} (host ${hostname()}, pid ${pid}) is gone`));
  }

  async #kill(start: () => void, pidOf?: (mark: Mark) => number): Promise<void> {
    const incarnation = this.deaths.length;
    const rank = this.below(this.size);
    const fits = (mark: Mark) => mark.incarnation === incarnation && mark.rank === rank;
    await this.killAfter(this.nextPhase(), fits, start, pidOf);
  }

  #launch(maxRestarts: number): Command {
    const args = ['--nproc', String(this.size), '--max-restarts', String(maxRestarts)];
    const env = { ...this.env, RINGRUN_RESTART_BACKOFF: 0 };
    return launch([...args, builtScript(script), this.folder, 'end'], { env, limitMs });
  }
}

function rootCause({ rank, pid }: Death): string {
  return `root cause: rank ${rank} on host ${hostname()} (pid ${pid}, `;
}

function endsWell(ended: Ended): void {
  const { code, signal, left, timedOut } = ended;
  expect({ code, signal, left, timedOut }, ended.stderr).toEqual({
    code: 0,
    signal: null,
    left: [],
    timedOut: false,
  });
}

async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = delay(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`waited ${patienceMs / 1000} s for ${what}`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
