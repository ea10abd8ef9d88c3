import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import {
  connectStore,
  firstJob,
  parseEndpoint,
  PrefixStore,
} from '../../../packages/rendezvous/src/index.ts';
import { builtScript } from '../../support/built-script.ts';
import { launch } from '../../support/command.ts';
import type { Ended } from '../../support/command.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import type { Mark, Phase } from '../fixtures/mark.ts';
import type { RecoveryResult } from '../fixtures/recovery-result.ts';
import type { ShrinkPauses } from '../fixtures/shrink-pauses.ts';
import { Marks } from './marks.ts';

/** The phases in which a victim is killed, with the maximum milliseconds from its mark to the signal. */
const delaysMs = {
  start: 250,
  rendezvous: 60,
  joining: 60,
  step: 12,
  exit: 8,
  left: 60,
} satisfies Partial<Record<Phase, number>>;
type KillPhase = keyof typeof delaysMs;

const limitMs = 100_000;

/** So that this process may read the store of a job. */
const secret = 'secret of jobs that shrink';
vi.stubEnv('RINGRUN_SECRET', secret);

/** A process that receives SIGKILL, or SIGSTOP until the launcher ends it. */
export interface Victim {
  signal: 'SIGKILL' | 'SIGSTOP';
  rank: number;
  phase: KillPhase;
  /** For the phase `step`: the first step in which it is killed. */
  step: number;
  delayMs: number;
}

/** A job under the launcher, and the deaths of its processes. */
export interface ShrinkPlan {
  size: number;
  steps: number;
  maxRestarts: number;
  pauses: ShrinkPauses;
  /** None of them is a process of the rank that survives. */
  victims: readonly Victim[];
  survivor: number;
}

export interface ShrinkJob {
  /** Phases in which processes were killed. */
  phases: Phase[];
  failure: string | undefined;
  stderr: string;
}

/** Everything except the arrival time of signals follows from the seed. */
export function randomPlan(seed: number, kills: number): ShrinkPlan {
  const random = randomNumbers(seed);
  const below = (count: number) => Math.floor(random() * count);
  const oneOf = <Item>(...items: Item[]) => items[below(items.length)];
  const size = 2 + below(3);
  const steps = oneOf(5, 15, 40);
  const maxRestarts = oneOf(0, 1, 3);
  const survivor = below(size);
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  const pauses = {
    replacementMs: oneOf(0, 0, 300, 3000),
    stepMs: oneOf(0, 5, 20),
    resultMs: ranks.map(() => oneOf(0, 0, 200, 1500)),
    timeoutMs: 4000,
  };
  const others = ranks.filter((rank) => rank !== survivor);
  const victims = Array.from({ length: kills }, (): Victim => {
    const phase = oneOf(...(Object.keys(delaysMs) as KillPhase[]));
    // A stopped rank that has left the job looks like one that writes a long result.
    const mayStop = phase !== 'left';
    return {
      signal: mayStop && random() < 0.15 ? 'SIGSTOP' : 'SIGKILL',
      rank: oneOf(...others),
      phase,
      step: random() < 0.3 ? steps - 1 : below(steps),
      delayMs: random() * delaysMs[phase],
    };
  });
  return { size, steps, maxRestarts, pauses, victims, survivor };
}

/** Runs one fault-tolerant job, kills its processes at their moments, and checks that it ends once. */
export async function runShrinkJob(place: string, plan: ShrinkPlan): Promise<ShrinkJob> {
  const job = new Trial(place, plan);
  let failure: string | undefined;
  try {
    job.check(await job.run());
  } catch (error) {
    failure = `${JSON.stringify(plan)}: ${String(error)}\n${job.history()}`;
  } finally {
    job.close();
  }
  return { phases: job.phases, failure, stderr: job.stderr };
}

class Trial {
  readonly phases: Phase[] = [];
  stderr = '';
  readonly #folder: string;
  readonly #plan: ShrinkPlan;
  readonly #victims: Victim[];
  readonly #marks: Marks;
  readonly #killed = new Set<number>();

  constructor(place: string, plan: ShrinkPlan) {
    this.#plan = plan;
    this.#victims = [...plan.victims];
    this.#folder = mkdtempSync(join(place, 'job-'));
    mkdirSync(join(this.#folder, 'tmp'));
    this.#marks = new Marks(this.#folder, (mark) => {
      this.#follow(mark);
    });
    writeFileSync(join(this.#folder, 'pauses.json'), JSON.stringify(plan.pauses));
  }

  async run(): Promise<Ended> {
    const ended = await launch(
      [
        ...['--nproc', String(this.#plan.size), '--max-restarts', String(this.#plan.maxRestarts)],
        ...[builtScript('faults/shrink.script'), this.#folder, String(this.#plan.steps)],
      ],
      {
        env: { TMPDIR: join(this.#folder, 'tmp'), RINGRUN_RESTART_BACKOFF: 0, RINGRUN_SECRET: secret },
        limitMs,
      },
    ).ended;
    this.stderr = ended.stderr;
    return ended;
  }

  /** Kills the process of the mark if it is the next victim of its rank. */
  #follow(mark: Mark): void {
    const { rank, pid, phase, step = 0 } = mark;
    // A job does not survive a death before all ranks have wrapped their model.
    const begun = this.#marks.all.filter((mark) => mark.phase === 'step').map((mark) => mark.rank);
    if (new Set(begun).size < this.#plan.size || this.#killed.has(pid)) return;
    const i = this.#victims.findIndex(
      (victim) => victim.rank === rank && victim.phase === phase && (phase !== 'step' || step >= victim.step),
    );
    if (i < 0) return;
    const [victim] = this.#victims.splice(i, 1);
    void delay(victim.delayMs).then(() => {
      const last = this.#marks.last(pid)?.phase;
      if (last === 'done') return;
      const signal = last === 'left' ? 'SIGKILL' : victim.signal;
      try {
        process.kill(pid, signal);
      } catch {
        return;
      }
      this.#killed.add(pid);
      if (signal === 'SIGSTOP' && phase === 'exit') void this.#endIfDeparted(mark);
      this.phases.push(this.#marks.last(pid)?.phase ?? phase);
    });
  }

  /**
   * Ends a stopped rank that has recorded its departure, but not yet written its mark: like one that is stopped in the phase
   * `left`, it looks like one that writes a long result.
   */
  async #endIfDeparted({ pid, store: endpoint = '', worker = '' }: Mark): Promise<void> {
    const at = parseEndpoint(endpoint, 'RINGRUN_STORE');
    const store = await connectStore({ ...at, log: () => undefined });
    try {
      const keys = new PrefixStore('restart/0', store);
      const job = await firstJob(keys, limitMs);
      const { timeoutMs } = this.#plan.pauses;
      await keys.wait([`recovery/${job!.id}/departed/${worker}`], { timeoutMs });
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has not departed, or the launcher has ended it or the job.
    } finally {
      await store.close();
    }
  }

  check({ code, signal, left, timedOut }: Ended): void {
    expect({ code, signal, left, timedOut }).toEqual({ code: 0, signal: null, left: [], timedOut: false });
    expect(this.stderr).not.toMatch(/restarting the workers|root cause/);
    const done = this.#marks.all.filter(({ phase }) => phase === 'done').map(({ rank }) => rank);
    expect(done, 'ranks that wrote their result twice').toEqual([...new Set(done)]);
    expect(done).toContain(this.#plan.survivor);
    this.#checkLastLine();
    const results = done.map((rank) => this.#resultOf(rank));
    for (const result of results) expect(result).toEqual(results[0]);
    expect(results[0].ranksByStep.length).toBeGreaterThanOrEqual(this.#plan.steps);
  }

  /** Each death has one line, and the last line counts them and names the ranks without a result. */
  #checkLastLine(): void {
    const ends = new Map<number, string>();
    const lines = this.stderr.matchAll(
      /^ringrun: rank \d+ \(pid (\d+)\) (was killed|was stopped|ended with)(.*)$/gm,
    );
    for (const [line, pid, , rest] of lines) {
      expect(ends.has(Number(pid)), line).toBe(false);
      ends.set(Number(pid), rest);
    }
    const dismissed = [...this.stderr.matchAll(/\(pid (\d+)\) is not needed/g)].map(([, pid]) => Number(pid));
    const started = this.#marks.all.filter(({ phase }) => phase === 'start');
    const unknown = [...ends.keys()].filter(
      (pid) => !this.#killed.has(pid) && !ends.get(pid)!.includes('ended before'),
    );
    expect(unknown, 'processes that ended by themselves').toEqual([]);
    const missing = Array.from({ length: this.#plan.size }, (_, rank) => rank).filter((rank) => {
      const { pid } = started.findLast((mark) => mark.rank === rank)!;
      return ends.has(pid) || dismissed.includes(pid);
    });
    const deaths = [...ends.values()].filter((rest) => !rest.includes('ended before')).length;
    const last = this.stderr.trimEnd().split('\n').at(-1);
    if (deaths === 0) return;
    const ranks = missing.length === 1 ? 'rank \\d' : 'ranks [\\d, and-]+';
    const how = missing.length === 0 ? 'with all ranks' : `without ${ranks}`;
    const count = `${deaths} ${deaths === 1 ? 'process' : 'processes'}`;
    expect(last).toMatch(new RegExp(`^ringrun: the job finished ${how}, after ${count} died$`));
  }

  #resultOf(rank: number): RecoveryResult {
    const file = join(this.#folder, `rank-${rank}.json`);
    expect(existsSync(file), file).toBe(true);
    return JSON.parse(readFileSync(file, 'utf8')) as RecoveryResult;
  }

  history(): string {
    const marks = this.#marks.all.filter(
      ({ phase, step }) => phase !== 'step' || step === 0 || step === this.#plan.steps - 1,
    );
    return `${marks.map(({ rank, pid, phase, step }) => `rank ${rank} (pid ${pid}) ${phase} ${step ?? ''}`).join('\n')}\n${this.stderr}`;
  }

  close(): void {
    this.#marks.close();
  }
}
