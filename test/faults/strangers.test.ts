// Strangers hold connections to every port of a job whose processes may open 1,024 files. With RINGRUN_MEASURE=1 the
// throughput with and without strangers is measured in turns.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import type { Command } from '../support/command.ts';
import { repository } from '../support/environment.ts';
import { freePort } from '../support/free-port.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { start } from '../support/start.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { descriptorTargets } from './support/descriptors.ts';
import { listenersOf } from './support/listeners.ts';

const place = temporaryFolder();
const files = 1024;
/** To each port. */
const strangers = 1100;

/** Two ranks of `strangers.script.ts`, whose processes and launcher may open 1,024 files each. */
async function startJob(options: readonly string[], limitMs?: number) {
  const folder = mkdtempSync(join(place, 'job-'));
  const args = ['launch', '--nproc', '2', ...options, builtScript('faults/strangers.script'), folder];
  const command = `ulimit -n ${files} && exec "$0" "$@"`;
  const job = start(
    'bash',
    ['-c', command, process.execPath, ...args],
    limitMs === undefined ? {} : { limitMs },
  );
  await job.sees(/^begun 0$/m);
  return { job, folder };
}

/** The launcher and the ranks. */
function pidsOf(job: Command): number[] {
  return [job.pid, pidOfRank(job, 0), pidOfRank(job, 1)];
}

/** Another process, and another user where the test may start one, connects to every port of the job. */
async function surround(job: Command): Promise<ChildProcess> {
  const listeners = pidsOf(job).flatMap(listenersOf);
  expect(listeners.length).toBeGreaterThan(2);
  const script = join(repository, builtScript('faults/fixtures/idle-strangers'));
  const other = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const child = spawn(process.execPath, [script, JSON.stringify(listeners), String(strangers)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...other,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => {
      resolve();
    });
    child.once('exit', () => {
      reject(new Error('the strangers have ended'));
    });
  });
  return child;
}

test('strangers that hold all ports do not keep a job from its restart', { timeout: 150_000 }, async () => {
  const dashboard = `--dashboard=127.0.0.1:${await freePort()}`;
  const { job, folder } = await startJob(['--max-restarts', '1', dashboard], 120_000);
  await surround(job);
  // The store's thread may still be closing the strangers of the last moment.
  for (const pid of pidsOf(job)) {
    await expect.poll(() => descriptorTargets(pid).length, { timeout: 10_000 }).toBeLessThan(files - 100);
  }
  process.kill(pidOfRank(job, 1), 'SIGKILL');
  await job.sees(/^begun 1$/m);
  await surround(job);
  writeFileSync(join(folder, 'finish'), '');
  const { code, stderr, left } = await job.ended;
  expect({ code, left }, stderr).toEqual({ code: 0, left: [] });
  expect(stderr).toMatch(
    /the store at \S+ has closed \d+ connections that did not prove to belong to this job/,
  );
  expect(stderr).not.toMatch(/EMFILE|^\s+at /m);
});

/** Steps of the slower rank in a window. */
function stepsBetween(folder: string, from: number, to: number): number {
  return Math.min(
    ...[0, 1].map((rank) => {
      const times = readFileSync(join(folder, `rank-${rank}.txt`), 'utf8')
        .trim()
        .split('\n')
        .map(Number);
      return 20 * times.filter((time) => time >= from && time < to).length;
    }),
  );
}

/** Milliseconds of processor time that a process has used (proc(5)). */
function processorMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}

interface Window {
  stepsPerSecond: number;
  /** Processor time of launcher and ranks. */
  msPerStep: number;
  launcherMs: number;
}

async function measure(job: Command, folder: string, windowMs: number): Promise<Window> {
  const pids = pidsOf(job);
  const before = pids.map(processorMsOf);
  const from = Date.now();
  await delay(windowMs);
  const to = Date.now();
  const spent = pids.map((pid, i) => processorMsOf(pid) - before[i]);
  const steps = stepsBetween(folder, from, to);
  const all = spent.reduce((sum, ms) => sum + ms, 0);
  return { stepsPerSecond: (1000 * steps) / (to - from), msPerStep: all / steps, launcherMs: spent[0] };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

test.runIf(process.env['RINGRUN_MEASURE'] === '1')(
  'throughput beside strangers on all ports, compared with none',
  { timeout: 300_000 },
  async () => {
    const { job, folder } = await startJob([`--dashboard=127.0.0.1:${await freePort()}`], 280_000);
    await delay(3000);
    const pairs: [alone: Window, beside: Window][] = [];
    for (let round = 1; round <= 20; round += 1) {
      const alone = await measure(job, folder, 2000);
      const child = await surround(job);
      // Connections are made in the first second, and then held.
      await delay(1000);
      const beside = await measure(job, folder, 2000);
      child.kill('SIGKILL');
      await delay(500);
      pairs.push([alone, beside]);
      const shown = ({ stepsPerSecond, msPerStep, launcherMs }: Window) =>
        `${stepsPerSecond.toFixed(0)} steps/s, ${(1000 * msPerStep).toFixed(0)} µs of processors a step, launcher ${launcherMs} ms`;
      console.log(`round ${round}: alone ${shown(alone)}; beside strangers ${shown(beside)}`);
    }
    writeFileSync(join(folder, 'finish'), '');
    await job.ended;
    const byClock = medianOf(pairs.map(([alone, beside]) => beside.stepsPerSecond / alone.stepsPerSecond));
    const byProcessors = medianOf(pairs.map(([alone, beside]) => alone.msPerStep / beside.msPerStep));
    console.log(
      `beside ${strangers} strangers per port: ${byClock.toFixed(3)} of the throughput by the clock, ${byProcessors.toFixed(3)} by processor time`,
    );
  },
);
