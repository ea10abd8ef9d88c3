// Trainings with `faultTolerance: 'shrink'` on two hosts, each with a launcher: a job outlives the death of workers, and
// the loss of a whole host restarts all workers.
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import type { Command } from '../support/command.ts';
import { hostsProblem } from '../support/hosts-problem.ts';
import { connectHosts } from '../support/hosts.ts';
import type { Network } from '../support/hosts.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { hasStopped } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { RecoveryResult } from './fixtures/recovery-result.ts';

const problem = hostsProblem();
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const place = temporaryFolder();
const limitMs = 150_000;
/** Long enough for two replacements to start, one after the other. */
const steps = 400;

/** A lease of 2 s. */
const patience = 'keep_alive_interval=0.5,keep_alive_max_attempt=4,last_call_timeout=2';

type Backend = 'static' | 'c10d';

/** Two launchers with two workers each: ranks 0 and 1 on host0, which serves the store, and ranks 2 and 3 on host1. */
class Job {
  readonly nodes: Command[];
  readonly #network: Network;
  readonly #backend: Backend;
  readonly #out = mkdtempSync(join(place, 'job-'));

  constructor(network: Network, backend: Backend) {
    this.#network = network;
    this.#backend = backend;
    this.nodes = [this.#launch(0), this.#launch(1)];
  }

  /** Starts the launcher of a host again. */
  restart(node: number): void {
    this.nodes[node] = this.#launch(node);
  }

  #launch(node: number): Command {
    const { hosts } = this.#network;
    const [{ address }] = hosts;
    const where =
      this.#backend === 'c10d'
        ? ['--rdzv-backend', 'c10d', '--rdzv-endpoint', `${address}:29400`]
        : ['--node-rank', String(node), '--master-addr', address];
    const job = ['--nnodes', '2', '--nproc', '2', '--max-restarts', '3', '--rdzv-conf', patience];
    const env = {
      OUT: this.#out,
      PAUSE_MS: 20,
      OMP_NUM_THREADS: 1,
      RINGRUN_SECRET: 'correct horse battery staple',
      RINGRUN_SILENT_PEER_TIMEOUT_S: 3,
      RINGRUN_RESTART_BACKOFF: 0,
    };
    const args = ['launch', ...job, ...where, builtScript('faults/recovery.script'), String(steps)];
    return hosts[node].node(args, { env, limitMs });
  }

  async trains(): Promise<void> {
    await Promise.all(
      [0, 1, 2, 3].map((rank) =>
        this.nodes[rank < 2 ? 0 : 1].sees(new RegExp(`rank ${rank} has done step 10$`, 'm')),
      ),
    );
  }

  kill(rank: number): void {
    process.kill(pidOfRank(this.nodes[rank < 2 ? 0 : 1], rank), 'SIGKILL');
  }

  /** All launchers exit with 0, and all results are equal. Returns the ranks of each step, and the lines on stderr. */
  async endsWell(): Promise<{ ranksByStep: RecoveryResult['ranksByStep']; stderr: string[] }> {
    const ends = await Promise.all(this.nodes.map(({ ended }) => ended));
    const shown = ends.map(({ stdout, stderr }, i) => `node ${i}\n${stderr}\n${stdout}`).join('\n');
    expect(
      ends.map(({ code, timedOut, left }) => ({ code, timedOut, left })),
      shown,
    ).toEqual(ends.map(() => ({ code: 0, timedOut: false, left: [] })));
    const files = readdirSync(this.#out).filter((name) => name.endsWith('.json'));
    const texts = files.map((name) => readFileSync(join(this.#out, name), 'utf8'));
    expect(new Set(texts).size, shown).toBe(1);
    const { ranksByStep } = JSON.parse(texts[0]) as RecoveryResult;
    expect(ranksByStep).toHaveLength(steps);
    return { ranksByStep, stderr: ends.map(({ stderr }) => stderr) };
  }
}

const backends: readonly Backend[] = isFull ? ['static', 'c10d'] : ['static'];

describe.skipIf(problem)(`shrink on two hosts${problem ? `: skipped, ${problem}` : ''}`, () => {
  test.each(backends)(
    '%s: one worker of each host dies and is replaced',
    { timeout: limitMs },
    async (backend) => {
      using network = connectHosts(2);
      const job = new Job(network, backend);
      await job.trains();
      job.kill(3);
      await job.nodes[1].sees(/rank 3 joins after step/);
      job.kill(1);
      await job.nodes[0].sees(/rank 1 joins after step/);
      const { ranksByStep, stderr } = await job.endsWell();
      expect(new Set(ranksByStep.map((ranks) => ranks.length))).toContain(3);
      expect(ranksByStep.at(-1)!.toSorted()).toEqual([0, 1, 2, 3]);
      for (const lines of stderr) expect(lines).not.toMatch(/round 2/);
    },
  );

  test.skipIf(!isFull).each(backends)(
    '%s: the worker with rank 0 dies and is replaced',
    { timeout: limitMs },
    async (backend) => {
      using network = connectHosts(2);
      const job = new Job(network, backend);
      await job.trains();
      job.kill(0);
      await job.nodes[0].sees(/rank 0 joins after step/);
      const { ranksByStep, stderr } = await job.endsWell();
      expect(ranksByStep.at(-1)!.toSorted()).toEqual([0, 1, 2, 3]);
      for (const lines of stderr) expect(lines).not.toMatch(/round 2/);
    },
  );

  test.skipIf(!isFull).each(backends)(
    '%s: both workers of a host die at once and are replaced',
    { timeout: limitMs },
    async (backend) => {
      using network = connectHosts(2);
      const job = new Job(network, backend);
      await job.trains();
      job.kill(2);
      job.kill(3);
      await Promise.all([2, 3].map((rank) => job.nodes[1].sees(new RegExp(`rank ${rank} joins after step`))));
      const { ranksByStep, stderr } = await job.endsWell();
      expect(ranksByStep.at(-1)!.toSorted()).toEqual([0, 1, 2, 3]);
      for (const lines of stderr) expect(lines).not.toMatch(/round 2/);
    },
  );

  /** Ways to lose host1, and to get it back. */
  const losses: Record<string, (network: Network, job: Job) => Promise<() => void>> = {
    'is killed': ({ hosts: [, lost] }, job) => {
      lost.killProcesses();
      return Promise.resolve(() => {
        job.restart(1);
      });
    },
    'is cut off': ({ hosts: [, lost] }) => {
      lost.cutLink();
      return Promise.resolve(() => {
        lost.restoreLink();
      });
    },
    'is stopped': async (_, job) => {
      const pids = job.nodes[1].processes().map(({ pid }) => pid);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      await Promise.all(pids.map(hasStopped));
      return () => {
        for (const pid of pids) process.kill(pid, 'SIGCONT');
      };
    },
  };

  const ways = Object.keys(losses).flatMap((how) => backends.map((backend) => ({ how, backend })));
  test.skipIf(!isFull).each(ways)(
    '$backend: a host $how: all workers start again when it is back',
    { timeout: limitMs },
    async ({ how, backend }) => {
      using network = connectHosts(2);
      const job = new Job(network, backend);
      await job.trains();
      const bringBack = await losses[how](network, job);
      await job.nodes[0].sees(/node .*host1.* died: no heartbeat for 2 s/);
      bringBack();
      await Promise.all(job.nodes.map((node) => node.sees(/round 2: starting 2 processes/)));
      const { ranksByStep } = await job.endsWell();
      expect(ranksByStep.at(-1)!.toSorted()).toEqual([0, 1, 2, 3]);
    },
  );

  test.skipIf(!isFull).each(backends)(
    '%s: the host of the store is killed: all workers start again when it is back',
    { timeout: limitMs },
    async (backend) => {
      using network = connectHosts(2);
      const job = new Job(network, backend);
      await job.trains();
      network.hosts[0].killProcesses();
      await job.nodes[0].ended;
      await job.nodes[1].sees(/the store .*(lost|does not answer)/);
      job.restart(0);
      await Promise.all(job.nodes.map((node) => node.sees(/round 2: starting 2 processes/)));
      const { ranksByStep } = await job.endsWell();
      expect(ranksByStep.at(-1)!.toSorted()).toEqual([0, 1, 2, 3]);
    },
  );
});
