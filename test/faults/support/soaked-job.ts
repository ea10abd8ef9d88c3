import { mkdirSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { builtScript, builtFile } from '../../support/built-script.ts';
import { launch } from '../../support/command.ts';
import type { Command, Ended } from '../../support/command.ts';
import type { Mark } from '../fixtures/mark.ts';
import { Marks } from './marks.ts';
import { occupiedBy } from './occupied.ts';

/** How a job continues after a death: without the rank until its replacement joins, or from a checkpoint. */
export type Way = 'shrink' | 'restart';

/** Ranks. One survives when the others shrink; after a restart all are new, and one more adds only their start. */
const sizes: Readonly<Record<Way, number>> = { shrink: 3, restart: 2 };

/** Resources by name, such as `launcher descriptors`. */
export type Sample = Readonly<Record<string, number>>;

/** A training without end under the launcher, whose ranks are killed one after the other. */
export class SoakedJob {
  readonly way: Way;
  /** Number of killed processes. */
  kills = 0;

  readonly #size: number;
  readonly #folder: string;
  readonly #marks: Marks;
  readonly #launcher: Command;
  /** Of each rank. */
  readonly #last = new Map<number, Mark>();

  constructor(place: string, way: Way, limitMs: number) {
    this.way = way;
    this.#size = sizes[way];
    this.#folder = mkdtempSync(join(place, `${way}-`));
    for (const name of ['tmp', 'heaps', 'checkpoints']) mkdirSync(join(this.#folder, name));
    this.#marks = new Marks(this.#folder, (mark) => {
      this.#last.set(mark.rank, mark);
      // A long soak has hundreds of thousands of them.
      this.#marks.all.length = 0;
    });
    const heaps = builtFile(new URL('../fixtures/report-heap.ts', import.meta.url));
    this.#launcher = launch(
      [
        '--nproc',
        String(this.#size),
        '--max-restarts',
        '100000',
        builtScript('faults/soak.script'),
        this.#folder,
        way,
      ],
      {
        env: {
          TMPDIR: join(this.#folder, 'tmp'),
          TEST_HEAPS: join(this.#folder, 'heaps'),
          NODE_OPTIONS: `--import ${heaps.href}`,
          RINGRUN_RESTART_BACKOFF: 0,
        },
        limitMs,
      },
    );
  }

  /** The rank that is never killed, if the others continue with it. */
  get #survivor(): number | undefined {
    return this.way === 'shrink' ? 1 : undefined;
  }

  /** Resolves when all ranks train together. */
  async begin(): Promise<void> {
    await this.#unlessEnded(this.#marks.next(({ ranks }) => ranks === this.#size));
    await this.#steps();
  }

  /** Kills the next rank in turn. Resolves when all ranks train together again, without a trace of its death in progress. */
  async killNext(): Promise<void> {
    const victims = Array.from({ length: this.#size }, (_, rank) => rank).filter(
      (rank) => rank !== this.#survivor,
    );
    const rank = victims[this.kills % victims.length];
    const { pid } = this.#last.get(rank)!;
    const replaced = this.#marks.next(
      (mark) => mark.rank === rank && mark.pid !== pid && mark.ranks === this.#size,
    );
    process.kill(pid, 'SIGKILL');
    this.kills += 1;
    await this.#unlessEnded(replaced);
    await this.#steps();
  }

  sample(): Sample {
    const marks = [...this.#last.values()];
    const processes = new Map([['launcher', this.#launcher.pid]]);
    if (this.#survivor !== undefined) processes.set('survivor', this.#last.get(this.#survivor)!.pid);
    const found: Record<string, number> = {
      // The smallest number that a rank has seen: a key of an operation in progress is no leak.
      keys: Math.min(...marks.map(({ keys }) => keys!)),
      files: readdirSync(join(this.#folder, 'tmp'), { recursive: true }).length,
    };
    for (const [name, pid] of processes) {
      const occupied = { ...occupiedBy(pid, this.#folder), 'heap MB': this.#heapOf(pid) };
      for (const [what, value] of Object.entries(occupied)) found[`${name} ${what}`] = value;
    }
    return found;
  }

  /** Ends the job. The surviving rank must have lived up to now. */
  async end(): Promise<Ended> {
    process.kill(this.#launcher.pid, 'SIGTERM');
    const ended = await this.#launcher.ended;
    this.#marks.close();
    expect({ left: ended.left, timedOut: ended.timedOut }).toEqual({ left: [], timedOut: false });
    const restarts = ended.stderr.match(/restarting the workers/g)?.length ?? 0;
    expect(restarts).toBe(this.way === 'shrink' ? 0 : this.kills);
    return ended;
  }

  /** Of all threads, in MB. */
  #heapOf(pid: number): number {
    const folder = join(this.#folder, 'heaps');
    const own = readdirSync(folder).filter((name) => name.startsWith(`${pid}-`) && !name.endsWith('.tmp'));
    const bytes = own.map((name) => Number(readFileSync(join(folder, name), 'utf8')));
    return bytes.reduce((sum, one) => sum + one, 0) / 2 ** 20;
  }

  /** Resolves after the next mark of each rank. */
  async #steps(): Promise<void> {
    const ranks = Array.from({ length: this.#size }, (_, rank) => rank);
    await this.#unlessEnded(Promise.all(ranks.map((rank) => this.#marks.next((mark) => mark.rank === rank))));
  }

  async #unlessEnded(event: Promise<unknown>): Promise<void> {
    const ended = this.#launcher.ended.then(({ stderr }) => {
      throw new Error(`the job ended after ${this.kills} kills:\n${stderr.slice(-5000)}`);
    });
    await Promise.race([event, ended]);
  }
}
