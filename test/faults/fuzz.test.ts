// Strangers send mutations of valid messages to the ports of a running training.
//
// The full form measures their cost to the training, in consecutive windows: without strangers; with strangers; and
// with as many connections per second of the same process to a control, a process outside the job that accepts and
// closes them. The first ratio of a line compares the strangers with none: on a machine with few processors it includes
// the processors that the strangers themselves take from the ranks. The second one compares them with the control: it
// is the cost within ringrun.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch, node } from '../support/command.ts';
import type { Command, Ended } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { isSanitized } from '../support/sanitized.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withoutWaiting } from '../support/without-waiting.ts';
import type { Round } from './fixtures/round.ts';
import { Fuzzer } from './support/fuzzer.ts';
import { listenersOf } from './support/listeners.ts';
import type { Listener } from './support/listeners.ts';
import { occupiedBy } from './support/occupied.ts';
import type { Occupied } from './support/occupied.ts';
import { recordClient } from './support/zmtp.ts';

/** `npm run test:faults`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
/** Under a sanitizer all jobs run with the instrumented addon, and nothing is claimed about throughput. */
const comparesThroughput = isFull && !isSanitized;
const { RINGRUN_FAULTS_SEED: givenSeed, RINGRUN_FAULTS_SECONDS: givenSeconds } = process.env;
/** For the full form, a different seed each day. */
const seed = Number(givenSeed ?? (isFull ? Math.floor(Date.now() / 86_400_000) : 1));
/** Share of one processor, so that the training keeps the rest of a machine with two. */
const share = comparesThroughput ? 0.3 : 0.6;
/** Steps of one round: some tenths of a second. */
const steps = 20;
/** Rounds before the first window: 1000 steps if throughput is compared, because V8 compiles meanwhile. */
const warmRounds = comparesThroughput ? 50 : 3;
const windowMs = comparesThroughput ? 2000 : 5000;

/** AddressSanitizer keeps freed memory, by default up to 256 MB. */
const { ASAN_OPTIONS: asan } = process.env;
const memoryIsFlat = asan === undefined ? {} : { ASAN_OPTIONS: `${asan}:quarantine_size_mb=16` };

const place = temporaryFolder();
const secret = 'the secret of this job';

afterEach(() => {
  vi.unstubAllEnvs();
});

interface Way {
  hasSecret: boolean;
  transport: 'tcp' | 'shm';
}

const few: readonly Way[] = [
  { hasSecret: true, transport: 'tcp' },
  { hasSecret: false, transport: 'shm' },
];
const others: readonly Way[] = [
  { hasSecret: true, transport: 'shm' },
  { hasSecret: false, transport: 'tcp' },
];
const ways = isFull || isSanitized ? [...few, ...others] : few;
/** Each job ends after this many seconds or inputs. */
const seconds = Number(givenSeconds ?? (isFull ? 600 : isSanitized ? 240 : 20)) / ways.length;
const inputs = isFull ? 1_000_000 / ways.length : 3000;

test.each(ways)(
  `mutated messages do not disturb a training (secret: $hasSecret, $transport, seed ${seed})`,
  { timeout: (seconds * 2.5 + 60) * 1000 },
  async (way) => {
    const job = await Job.start(way);
    const before = job.occupied();
    const target = await job.target();
    const fuzzer = new Fuzzer({ seed, share, ...target });
    await using control = comparesThroughput ? await Control.start() : undefined;
    const calls = new Fuzzer({ seed, share, ...target, ...control?.target });
    const samples: Occupied[][] = [];
    const sampling = setInterval(() => {
      if (!job.hasEnded) samples.push(job.occupied());
    }, 500);
    const windows: Window[] = [];
    const end = performance.now() + seconds * 1000;
    const during = async <Result>(kind: Window['kind'], run: () => Promise<Result>): Promise<Result> => {
      const from = Date.now();
      const result = await run();
      windows.push({ from, to: Date.now(), kind });
      return result;
    };
    const untilMs = () => Math.min(end, performance.now() + windowMs);
    while (fuzzer.inputs < inputs && performance.now() < end) {
      const perSecond = await during('strangers', () => fuzzer.run(untilMs(), { maxInputs: inputs }));
      if (!comparesThroughput) continue;
      fuzzer.close();
      await during('control', () => calls.run(untilMs(), { maxPerSecond: perSecond }));
      calls.close();
      await during('nothing', () => delay(windowMs));
    }
    clearInterval(sampling);
    fuzzer.close();

    // The deadline of a handshake is 5 s in a rank, and 30 s in ZeroMQ.
    const descriptors = (all: readonly Occupied[]) => all.map((one) => one.descriptors);
    await vi.waitFor(
      () => {
        expect(descriptors(job.occupied())).toEqual(descriptors(before));
      },
      { timeout: 45_000, interval: 50 },
    );
    const rounds = await job.finish();
    const counts = `${fuzzer.inputs} inputs on ${fuzzer.connections} connections`;
    expect(fuzzer.inputs, counts).toBeGreaterThanOrEqual(isFull ? 0 : inputs);
    // The first round had ended before the first stranger connected.
    expect(new Set(rounds.flat().map(({ digest }) => digest)).size, counts).toBe(1);
    expect(rounds[0].length).toBeGreaterThan(2);
    if (!isFull) return;

    const strangersMs = windows
      .filter(({ kind }) => kind === 'strangers')
      .reduce((sum, { from, to }) => sum + to - from, 0);
    console.log(
      `secret: ${way.hasSecret}, ${way.transport}, seed ${seed}: ${counts} in ${Math.round(seconds)} s, ` +
        `${Math.round((fuzzer.connections / strangersMs) * 1000)} connections/s, ${rounds[0].length * steps} steps`,
    );
    const quarter = Math.floor(samples.length / 4);
    for (const [i, name] of job.names.entries()) {
      const median = (some: readonly Occupied[][], what: keyof Occupied) =>
        medianOf(some.map((all) => all[i][what]));
      const [first, last] = [samples.slice(0, quarter), samples.slice(-quarter)];
      const [MB, lastMB] = [median(first, 'MB'), median(last, 'MB')];
      console.log(
        `  ${name}: ${MB.toFixed(1)} MB in the first quarter, ${lastMB.toFixed(1)} MB in the last; ` +
          `descriptors ${median(first, 'descriptors')} and ${median(last, 'descriptors')}, ${before[i].descriptors} before and after`,
      );
      expect(lastMB, `memory of ${name}`).toBeLessThan(MB * 1.1 + 16);
      expect(median(last, 'descriptors')).toBeLessThan(median(first, 'descriptors') * 1.1 + 16);
    }
    if (!comparesThroughput) return;
    const kept = keptWith('control', rounds, windows);
    const shown = (of: Kept) =>
      `${of.cpu.toFixed(3)} by processor time of the ranks, ${of.wall.toFixed(3)} by the clock`;
    console.log(
      `  throughput with strangers / without: ${shown(keptWith('nothing', rounds, windows))};\n` +
        `  throughput with strangers / with as many connections to another process: ${shown(kept)}`,
    );
    expect(kept.cpu).toBeGreaterThan(0.9);
  },
);

interface Window {
  from: number;
  to: number;
  kind: 'strangers' | 'control' | 'nothing';
}

/** Throughput with strangers as a share of another throughput. */
interface Kept {
  cpu: number;
  wall: number;
}

/** A process that accepts connections and closes them. */
class Control implements AsyncDisposable {
  readonly target: { stores: Listener[]; ranks: Listener[] };
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    const at: Listener[] = [{ host: '127.0.0.1', port }];
    this.target = { stores: at, ranks: at };
  }

  static async start(): Promise<Control> {
    const child = fork(builtScript('faults/fixtures/accept-and-close'));
    const [port] = (await once(child, 'message')) as [number];
    return new Control(child, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }
}

/** Two ranks under a launcher with a secret, or started by hand without one. */
class Job {
  readonly names: readonly string[];
  readonly #hasSecret: boolean;
  readonly #transport: string;
  readonly #commands: readonly Command[];
  readonly #pids: readonly number[];
  readonly #port: number;
  readonly #folder: string;
  readonly #ends: Ended[] = [];

  private constructor(
    { hasSecret, transport }: Way,
    commands: readonly Command[],
    port: number,
    folder: string,
  ) {
    this.#hasSecret = hasSecret;
    this.#transport = transport;
    this.#commands = commands;
    const ofRanks = hasSecret ? [0, 1].map((rank) => pidOfRank(commands[0], rank)) : [];
    this.#pids = [...commands.map(({ pid }) => pid), ...ofRanks];
    this.names = hasSecret ? ['launcher', 'rank 0', 'rank 1'] : ['rank 0', 'rank 1'];
    this.#port = port;
    this.#folder = folder;
    for (const { ended } of commands) void ended.then((end) => this.#ends.push(end));
  }

  /** Resolves when the training has done its first rounds. */
  static async start({ hasSecret, transport }: Way): Promise<Job> {
    const folder = mkdtempSync(join(place, 'job-'));
    const port = await freePort();
    const args = [builtScript('faults/fuzz.script'), folder, String(steps)];
    const env = { RINGRUN_TRANSPORT: transport, ...memoryIsFlat };
    const limitMs = (seconds * 2.5 + 60) * 1000;
    const byHand = { ...env, MASTER_ADDR: '127.0.0.1', MASTER_PORT: port, WORLD_SIZE: 2 };
    const commands = hasSecret
      ? [launch(['--nproc', '2', ...args], { env: { ...env, RINGRUN_SECRET: secret }, limitMs })]
      : [0, 1].map((rank) => node(args, { env: { ...byHand, RANK: rank }, limitMs }));
    const warm = () => [0, 1].every((rank) => roundsOf(folder, rank).length >= warmRounds);
    const ended = Promise.race(commands.map((command) => command.ended));
    const early = ended.then((end) => {
      throw new Error(`a process of the job has ended too early: ${JSON.stringify(end, undefined, 2)}`);
    });
    while (!warm()) await Promise.race([early, delay(20)]);
    const job = new Job({ hasSecret, transport }, commands, port, folder);
    if (isSanitized) {
      for (const pid of job.#pids.slice(-2)) {
        expect(readFileSync(`/proc/${pid}/maps`, 'utf8')).toContain(process.env['RINGRUN_NATIVE']);
      }
    }
    return job;
  }

  get hasEnded(): boolean {
    return this.#ends.length > 0;
  }

  /** @throws Error with the output of a process that has ended. */
  occupied(): Occupied[] {
    if (this.#ends.length > 0) throw new Error(`ended: ${JSON.stringify(this.#ends, undefined, 2)}`);
    return this.#pids.map((pid) => occupiedBy(pid, this.#folder));
  }

  async target() {
    vi.stubEnv('RINGRUN_SECRET', this.#hasSecret ? secret : '');
    const all = this.#pids.map(listenersOf);
    // The launcher has no other TCP port.
    const storePort = this.#hasSecret ? all[0].find((one) => 'port' in one)!.port : this.#port;
    const isStore = (one: Listener) => 'port' in one && one.port === storePort;
    const [stores, ranks] = [all.flat().filter(isStore), all.flat().filter((one) => !isStore(one))];
    const kind = this.#transport === 'tcp' ? 'port' : 'path';
    expect(ranks.filter((one) => kind in one).length, JSON.stringify(all)).toBe(2);
    return { stores, ranks, recorded: await recordClient(storePort), hasSecret: this.#hasSecret };
  }

  /** Ends the training after its current round. Returns the rounds of each rank. */
  async finish(): Promise<Round[][]> {
    writeFileSync(join(this.#folder, 'finish'), '');
    for (const { ended } of this.#commands) {
      const { code, signal, left, stderr } = await ended;
      expect({ code, signal, left }, stderr).toEqual({ code: 0, signal: null, left: [] });
      if (this.#hasSecret) expect(stderr).toMatch(/the store at \S+ has refused 100 connections/);
      // Prints only the numbers of refused connections.
      const lines = withoutWaiting({ stderr })
        .stderr.split('\n')
        .filter((line) => line !== '' && !/^.*ringrun: .* refused /.test(line));
      expect(lines).toEqual([]);
    }
    return [0, 1].map((rank) => roundsOf(this.#folder, rank));
  }
}

function roundsOf(folder: string, rank: number): Round[] {
  const file = join(folder, `rank-${rank}.jsonl`);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Round);
}

/** Compares each window with strangers with the next one of `kind`: medians. */
function keptWith(kind: 'control' | 'nothing', rounds: readonly Round[][], windows: readonly Window[]): Kept {
  const costOf = ({ from, to }: Window): Kept => {
    const within = rounds.flat().filter((round) => round.from >= from && round.to <= to);
    return {
      cpu: medianOf(within.map(({ cpuMs }) => cpuMs)),
      wall: medianOf(within.map((round) => round.to - round.from)),
    };
  };
  const pairs = windows.flatMap((window, i) => {
    const other = windows.slice(i).find((one) => one.kind === kind);
    return window.kind === 'strangers' && other !== undefined ? [[costOf(window), costOf(other)]] : [];
  });
  const ratio = (of: keyof Kept) =>
    medianOf(pairs.map(([fuzzed, calm]) => calm[of] / fuzzed[of]).filter(Number.isFinite));
  return { cpu: ratio('cpu'), wall: ratio('wall') };
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
