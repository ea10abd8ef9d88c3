import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { StoreServer } from '../../../packages/rendezvous/src/store/server.ts';
import { start } from '../../../packages/rendezvous/test/store/processes.ts';
import type { TestProcess } from '../../../packages/rendezvous/test/store/processes.ts';
import { finalLoss, replay } from '../../fixtures/recoverable-training.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { RecoveryResult } from '../fixtures/recovery-result.ts';

/** Default tolerance of a parameter: ranks add gradients in a different order than one process. */
const defaultTolerance = 2e-4;

/** Returns the parameters after a training with these ranks in each step. */
export type Replay = (ranksByStep: RecoveryResult['ranksByStep']) => Promise<Float32Array[]>;

/** One rank from its start, with the processes that replace it. */
interface Rank {
  process: TestProcess;
  /** Whether the current process has the state of the training. */
  hasState: boolean;
  isKilled: boolean;
}

/** A job of processes without a launcher, which the test kills and restarts. */
export class Job {
  readonly ranks: Rank[] = [];
  readonly #start: (rank: number) => TestProcess;
  /** Folder of the results. */
  readonly out: string;

  private constructor(startRank: (rank: number) => TestProcess, out: string, worldSize: number) {
    this.#start = startRank;
    this.out = out;
    for (let rank = 0; rank < worldSize; rank += 1) this.ranks.push(this.#begin(rank));
  }

  static async start(
    worldSize: number,
    steps: number,
    env: Record<string, string | number>,
    name = 'recovery',
  ): Promise<Job> {
    const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => server.close());
    const out = temporaryFolder();
    const script = new URL(`../${name}.script.ts`, import.meta.url);
    const common = { WORLD_SIZE: worldSize, RINGRUN_STORE: server.endpoint, OUT: out, ...env };
    const job = new Job((rank) => start(script, { ...common, RANK: rank }, [String(steps)]), out, worldSize);
    await Promise.all(job.ranks.map(({ process: one }) => one.sees(/rank \d starts/)));
    return job;
  }

  #begin(rank: number): Rank {
    const begun: Rank = { process: this.#start(rank), hasState: false, isKilled: false };
    void begun.process.sees(/rank \d (starts|joins after)/).then(
      () => (begun.hasState = true),
      () => undefined,
    );
    return begun;
  }

  /** Kills the rank with SIGKILL unless no other rank would have the state. Returns whether it was killed. */
  kill(rank: number): boolean {
    const others = this.ranks.filter((one, i) => i !== rank && one.hasState && !one.isKilled);
    if (others.length === 0 || this.ranks[rank].isKilled) return false;
    this.ranks[rank].isKilled = true;
    this.ranks[rank].process.kill('SIGKILL');
    return true;
  }

  async restart(rank: number): Promise<void> {
    await this.ranks[rank].process.ended;
    this.ranks[rank] = this.#begin(rank);
  }

  /**
   * Waits for the ranks that were not killed, and checks their results. Returns the ranks of each step.
   *
   * @param replayed the parameters after a training with these ranks in each step
   */
  async verify(
    steps: number,
    replayed: Replay = replay,
    tolerance = defaultTolerance,
  ): Promise<RecoveryResult['ranksByStep']> {
    const left = [...this.ranks.entries()].filter(([, { isKilled }]) => !isKilled);
    const results: RecoveryResult[] = [];
    for (const [rank, { process: one }] of left) {
      const { code, signal } = await one.ended;
      const { stdout, stderr } = one.output();
      // A process may start too late to join.
      if (stderr.includes('ERR_JOB_ENDED')) continue;
      expect({
        rank,
        code,
        signal,
        stderr: code === 0 ? '' : stderr,
        stdout: code === 0 ? '' : stdout,
      }).toEqual({
        rank,
        code: 0,
        signal: null,
        stderr: '',
        stdout: '',
      });
      const file = join(this.out, `rank-${rank}.json`);
      expect(existsSync(file)).toBe(true);
      results.push(JSON.parse(readFileSync(file, 'utf8')) as RecoveryResult);
    }
    expect(results.length).toBeGreaterThan(0);
    const [first, ...others] = results;
    for (const other of others) expect(other).toEqual(first);
    expect(first.ranksByStep).toHaveLength(steps);
    await expectSameTraining(first, replayed, tolerance);
    return first.ranksByStep;
  }
}

/** Replays the recorded steps in this process: the same parameters and loss. */
export async function expectSameTraining(
  { parameters, ranksByStep }: RecoveryResult,
  replayed: Replay = replay,
  tolerance = defaultTolerance,
): Promise<void> {
  const found = parameters.map((text) => {
    const bytes = Buffer.from(text, 'base64');
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  });
  const expected = await replayed(ranksByStep);
  let most = 0;
  for (const [i, values] of expected.entries()) {
    for (const [j, value] of values.entries()) most = Math.max(most, Math.abs(value - found[i][j]));
  }
  expect(most).toBeLessThan(tolerance);
  const loss = [await finalLoss(found), await finalLoss(expected)];
  expect(Math.abs(loss[0] - loss[1])).toBeLessThan(tolerance / 4);
}
