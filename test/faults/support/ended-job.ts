import { mkdtempSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { builtScript } from '../../support/built-script.ts';
import type { Ended } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';
import { startUntilKilled } from '../../support/start.ts';

/** How a job is launched: without restarts, with one, with recovery (two ranks of three remain), and as two nodes. */
export const modes = ['plain', 'restart', 'shrink', 'elastic'] as const;
export type Mode = (typeof modes)[number];

/** A script in place of ends.script.ts. */
export interface OtherScript {
  name: string;
  /** Undefined: the file does not exist. */
  source?: string;
}

export interface JobToEnd {
  way: string;
  mode: Mode;
  /** A folder for its files. */
  place: string;
  script?: OtherScript | undefined;
}

/** How a launcher ended. */
export interface JobEnd {
  code: number | null;
  /** The root cause, such as `rank 1: RangeError: loss is NaN`, up to the last line; without one, the last line. */
  last: string;
  /** The first frame of the stack of the root cause in the test's files. */
  frame?: string;
}

const conf = 'keep_alive_interval=1,keep_alive_max_attempt=5,last_call_timeout=1,join_timeout=30';

/** Runs the job. Returns the end of each of its launchers. */
export async function endJob({ way, mode, place, script }: JobToEnd): Promise<JobEnd[]> {
  const folder = mkdtempSync(join(place, 'job-'));
  const args =
    script === undefined
      ? [builtScript('faults/ends.script'), way, mode === 'shrink' ? 'training' : 'sums', folder]
      : [written(script, folder)];
  const env = {
    RINGRUN_TRANSPORT: 'shm',
    // V8 takes 2 GB and a minute to fill its default heap.
    ...(way === 'exhausts its heap' ? { NODE_OPTIONS: '--max-old-space-size=64' } : {}),
  };
  const launchers = await launchersOf(mode, way, args);
  const jobs = launchers.map((all) =>
    startUntilKilled(process.execPath, ['launch', ...all], { limitMs: 120_000, env }),
  );
  const ends = await Promise.all(jobs.map((job) => job.ended));
  return ends.map(endOf);
}

function written({ name, source }: OtherScript, folder: string): string {
  const path = join(folder, name);
  if (source !== undefined) writeFileSync(path, source);
  return path;
}

async function launchersOf(mode: Mode, way: string, args: readonly string[]): Promise<string[][]> {
  if (mode === 'elastic') {
    const endpoint = `localhost:${await freePort()}`;
    const rendezvous = ['--rdzv-backend', 'c10d', '--rdzv-endpoint', endpoint, '--rdzv-conf', conf];
    const node = ['--nnodes', '2', '--nproc', '1', ...rendezvous, ...args];
    return [node, node];
  }
  const restarts = mode === 'restart' || way.startsWith('its replacement') ? 1 : 0;
  return [['--nproc', '3', '--max-restarts', String(restarts), ...args]];
}

const rootCause =
  /^ringrun: root cause: (rank \d) on host <host> \(pid <pid>, local rank \d\), \S+ s after the start: ([^]*)$/;

function endOf({ code, stderr, timedOut, left }: Ended): JobEnd {
  if (timedOut || left.length > 0) return { code, last: `still runs: ${stderr}` };
  const text = masked(stderr.trimEnd());
  const root = rootCause.exec(text.slice(text.lastIndexOf('ringrun: root cause:')));
  if (root === null) return { code, last: text.split('\n').at(-1)! };
  const [, rank, reason] = root;
  const stack = text.slice(text.lastIndexOf(`ringrun: error of ${rank}:`)).split('\n');
  const frame = stack
    .find((line) => /^ +at .*(ways-to-end|ends\.script|worker eval)/.test(line))
    ?.replace(/^ +at (async )?(Object\.|Timeout\.)?/, '')
    .replace(/ \[as \w+\]/, '');
  return { code, last: `${rank}: ${settled(reason)}`, ...(frame === undefined ? {} : { frame }) };
}

/** Without what differs between runs: hosts, pids, folders and lines. */
function masked(text: string): string {
  return text
    .replaceAll(`host ${hostname()}`, 'host <host>')
    .replace(/\bpid \d+/g, 'pid <pid>')
    .replace(/(?:file:\/\/)?\/[^\s:()']*\/([^\s:()'/]+?):\d+(:\d+)?\b/g, '$1')
    .replace(/(?:file:\/\/)?\/[^\s:()']*\//g, '');
}

/**
 * Without what depends on the order in which processes end: a rank that records its error may be stopped before it has
 * exited, and only ranks of this node that have recorded an error name their operation.
 */
function settled(reason: string): string {
  return reason
    .replace(/^exit code \d+, /, '')
    .replace(/process\.exit(\(0\)| was called) at Object\./, 'process.exit$1 at ')
    .replace(/ \(the launcher sent SIGTERM before the process had exited\)/, '')
    .replace(/: rank \d was in \w+ #\d+ \([^)]*\)/, '')
    .replace(
      /; not the OOM killer, as the cgroup's oom_kill count did not increase|, or the OOM killer of the kernel/,
      '',
    )
    .replace(/(loss ){20,}\S*…/, 'loss …');
}
