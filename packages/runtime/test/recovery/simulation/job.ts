import type { ProcessGroup } from '@ringrun/core';
import { startWorkers } from '../../../../launcher/src/job/agent.ts';
import type { NodeOutcome } from '../../../../launcher/src/job/agent.ts';
import { FaultTolerantJob } from '../../../../launcher/src/job/fault-tolerant-job.ts';
import { Survival, workerIdVariable } from '../../../../launcher/src/job/survival.ts';
import { countingOf } from '../../../../launcher/src/job/worker-launcher.ts';
import type { SupervisedWorker, WorkerPlan } from '../../../../launcher/src/job/worker.ts';
import type { FormGroup } from '../../../src/process-group/session.ts';
import { SimulatedGroup } from './group.ts';
import { SimulatedProcess } from './process.ts';
import { SimulatedStore } from './store.ts';
import { SimulatedTime, clockOf } from '../../../../rendezvous/test/rounds/simulation/time.ts';

export interface JobSettings {
  readonly size: number;
  readonly steps: number;
  readonly maxRestarts: number;
  /** Whether a step's commit is started with its collectives. */
  readonly issuesAtOnce: boolean;
  /** Milliseconds from the start of a replacement to its first use of the store. */
  readonly replacementMs: number;
  /** Maximum milliseconds of a step, and of writing the result. */
  readonly stepMs: number;
  readonly resultMs: number;
  readonly timeoutMs: number;
  /** This rank neither dies nor stops. */
  readonly survivor: number | undefined;
  /** Probability that a process dies or stops soon after it begins a phase or a step. */
  readonly deathRate: number;
  /** The fraction of them that stop. */
  readonly stuckRate: number;
}

/** A fault-tolerant job on one node: the launcher's real supervision over simulated processes. */
export class SimulatedJob {
  readonly time: SimulatedTime;
  readonly store: SimulatedStore;
  readonly settings: JobSettings;
  readonly processes: SimulatedProcess[] = [];
  readonly lines: string[] = [];
  /** The RANK of each process that wrote its result. */
  readonly results: number[] = [];
  readonly #survivalOf: typeof Survival;
  readonly #groups = new Map<string, SimulatedGroup>();
  #firstWaiting: { process: SimulatedProcess; resolve: (group: ProcessGroup) => void }[] = [];
  #pids = 100;
  #ids = 0;

  constructor(seed: number, settings: (time: SimulatedTime) => JobSettings, survivalOf = Survival) {
    this.time = new SimulatedTime(seed);
    this.store = new SimulatedStore(this.time);
    this.settings = settings(this.time);
    this.#survivalOf = survivalOf;
  }

  nextPid(): number {
    return this.#pids++;
  }

  /** Runs the job to its end. Throws with the history if it does not end, fails, or writes a result twice. */
  async run(): Promise<void> {
    const { size, maxRestarts, survivor } = this.settings;
    const clock = clockOf(this.time, () => true);
    const survival = new this.#survivalOf(
      {
        ...{ runId: 'job', restartCount: 0, groupRank: 0, groupWorldSize: 1, processesPerNode: [size] },
        ...{ masterAddress: 'host', masterPort: 1, storeEndpoint: 'tcp://host:1' },
      },
      maxRestarts,
      (line) => this.lines.push(`${Math.round(this.time.now)} ms: ${line}`),
      {
        connect: () =>
          Promise.resolve(
            new FaultTolerantJob(
              this.store.client(() => true),
              0,
            ),
          ),
        isFaultTolerant: (plan) => this.#processOf(plan)?.hasBegun === true,
        errorOf: (plan) => this.#processOf(plan)?.error,
        clock,
      },
    );
    const plans = Array.from({ length: size }, (_, rank) => planOf(rank));
    const workers = startWorkers(plans, 30_000, survival, {
      startWorker: (plan) => this.#start(plan),
      clock,
    });
    const ended: NodeOutcome[] = [];
    void workers.ended.then((outcome) => ended.push(outcome));
    await this.time.run(30 * 60_000, () => ended.length > 0);
    if (ended.length === 0) this.#fail('the job has not ended');
    if (this.processes.some(({ isAlive }) => isAlive)) this.#fail('the launcher ended before a process');
    if (new Set(this.results).size !== this.results.length) this.#fail('a rank wrote its result twice');
    const failed = countingOf(ended[0]).filter(({ exitCode }) => exitCode !== 0);
    if (survivor !== undefined && failed.length > 0) this.#fail('the job has failed');
    if (survivor !== undefined && !this.results.includes(survivor)) this.#fail('the survivor has no result');
    if (failed.length === 0 && this.results.length === 0) this.#fail('the job succeeded without a result');
  }

  #fail(what: string): never {
    const processes = this.processes.map(
      (one) => `rank ${one.rank} (pid ${one.pid}): ${one.history.join(', ')}`,
    );
    throw new Error([what, JSON.stringify(this.settings), ...this.lines, ...processes].join('\n'));
  }

  #processOf({ environment }: WorkerPlan): SimulatedProcess | undefined {
    return this.processes.find(({ token }) => token === environment[workerIdVariable]);
  }

  #start(plan: WorkerPlan): SupervisedWorker {
    const isReplacement = this.processes.some(({ rank }) => rank === plan.rank);
    const token = plan.environment[workerIdVariable]!;
    const process = new SimulatedProcess(this, plan.rank, token, isReplacement);
    this.processes.push(process);
    let sentSignal: { signal: NodeJS.Signals; at: number } | undefined;
    const ended = process.ended.then(async ({ exitCode, signal }) => {
      await clockOf(this.time, () => true).delay(this.time.random.between(0, 5));
      const { rank, localRank } = plan;
      const how = { exitCode, signal, sentSignal, forced: sentSignal !== undefined && signal === 'SIGKILL' };
      const which = { rank, localRank, host: 'host', pid: process.pid, errorFile: undefined };
      return { ...which, startError: undefined, endedAt: this.time.now, ...how };
    });
    return {
      rank: plan.rank,
      pid: process.pid,
      ended,
      signalGroup: (signal) => {
        if (process.isAlive) sentSignal ??= { signal, at: this.time.now };
        this.time.about(1, () => {
          process.kill(signal);
        });
      },
      hasDied: () => !process.isAlive,
      isStopped: () => process.isStuck,
      mustRenewWithin: () => undefined,
      isSaving: () => false,
      release: () => Promise.resolve(),
      groupIsLeft: () => false,
    };
  }

  /** A process has begun a phase, and may die soon. */
  onPhase(process: SimulatedProcess): void {
    const { survivor, deathRate, stuckRate } = this.settings;
    const { random } = this.time;
    // A job does not survive a death before all ranks have wrapped their model.
    const haveBegun = this.processes.filter(({ hasBegun }) => hasBegun);
    const areAllBegun = new Set(haveBegun.map(({ rank }) => rank)).size === this.settings.size;
    if (!areAllBegun || process.rank === survivor || !random.chance(deathRate)) return;
    const isStuck = random.chance(stuckRate);
    this.time.agenda.after(random.between(0, 12), () => {
      if (!isStuck) process.kill('SIGKILL');
      else this.#stop(process);
    });
  }

  /** A rank that is stuck while it writes its result looks like one that writes much: its user ends it. */
  #stop(process: SimulatedProcess): void {
    process.stop();
    const untilArrivedMs = 20;
    this.time.agenda.after(untilArrivedMs, () => {
      const hasDeparted = [...this.store.values.keys()].some((key) =>
        key.endsWith(`departed/${process.token}`),
      );
      if (hasDeparted) process.kill('SIGKILL');
    });
  }

  /** The group of the ranks that started together. */
  async firstGroup(process: SimulatedProcess): Promise<ProcessGroup> {
    return await new Promise((resolve) => {
      this.#firstWaiting.push({ process, resolve });
      if (this.#firstWaiting.length < this.settings.size) return;
      const all = this.#firstWaiting.sort((a, b) => a.process.rank - b.process.rank);
      const group = this.groupOf(all.map((one) => one.process));
      const gathered = all.map((one) => ({ id: 'job', self: one.process.identity }));
      for (const [rank, one] of all.entries())
        one.resolve(Object.assign(group.at(rank), { allGatherObjectSync: () => gathered }));
    });
  }

  groupOf(members: readonly SimulatedProcess[]): SimulatedGroup {
    return new SimulatedGroup(this.time, members, this.settings.timeoutMs);
  }

  /** Members meet in the store of the group, as the real ones do. */
  async formGroup(
    process: SimulatedProcess,
    { store, rank, size, timeoutMs = 0, connectTimeoutMs = timeoutMs }: Parameters<FormGroup>[0],
  ): Promise<ProcessGroup> {
    if (size === 1) return this.groupOf([process]).at(0);
    const keys = Array.from({ length: size }, (_, i) => `rank-info/${i}`);
    await store.set(keys[rank], process.token);
    await store.wait(keys, { timeoutMs: connectTimeoutMs });
    const id = Buffer.from(await store.compareSet('id', '', `group ${this.#ids++}`)).toString();
    const tokens = await Promise.all(keys.map(async (key) => Buffer.from(await store.get(key)).toString()));
    const members = tokens.map((token) => this.processes.find((one) => one.token === token)!);
    const group = this.#groups.get(id) ?? this.groupOf(members);
    this.#groups.set(id, group);
    return group.at(rank);
  }

  onResult({ rank }: SimulatedProcess): void {
    this.results.push(rank);
  }
}

function planOf(rank: number): WorkerPlan {
  return {
    ...{ rank, localRank: rank, command: 'node', arguments: [], kind: 'script' },
    output: { stdout: 'ignore', stderr: 'ignore' } as unknown as WorkerPlan['output'],
    environment: { [workerIdVariable]: `first ${rank}` },
  };
}
