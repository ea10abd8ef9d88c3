import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { LaunchError } from './launch-error.ts';

/** What a node has of something, and what each process takes of it at the least. */
export interface Limit {
  /** `memory`, with its unit, for a message. */
  readonly of: string;
  readonly available: number;
  readonly perProcess: number;
}

/**
 * Refuses more processes than this node can start: beyond that, the launcher would start processes for hours, or until the node breaks down.
 *
 * @throws LaunchError with the limit that is reached first.
 */
export function refuseTooMany(count: number, limits: readonly Limit[]): void {
  const tightest = limits
    .map((limit) => ({ ...limit, most: Math.max(1, Math.floor(limit.available / limit.perProcess)) }))
    .sort((a, b) => a.most - b.most)
    .at(0);
  if (tightest === undefined || count <= tightest.most) return;
  const { of, available, perProcess, most } = tightest;
  throw new LaunchError(
    2,
    `--nproc-per-node ${count}: expected at most ${most} processes on this node, which has ${available} ${of}, ` +
      `of which each process takes at least ${perProcess}. Give a smaller number.`,
  );
}

/** The limits of this node; those that cannot be read are left out. */
export function readLimits(kind: 'script' | 'program'): Limit[] {
  const isScript = kind === 'script';
  const numbers: [of: string, available: number | undefined, perProcess: number][] = [
    // A Node process that does nothing yet has 11 threads, and 20 MiB that it shares with no other.
    ['MiB of memory', Math.floor(totalmem() / 2 ** 20), isScript ? 16 : 1],
    ['processes and threads (ulimit -u)', readOwnLimit('Max processes'), isScript ? 8 : 1],
    ['process numbers (kernel.pid_max)', readNumber('/proc/sys/kernel/pid_max'), isScript ? 8 : 1],
    ['threads (kernel.threads-max)', readNumber('/proc/sys/kernel/threads-max'), isScript ? 8 : 1],
    ['open files (ulimit -n)', readOwnLimit('Max open files'), 1],
  ];
  return numbers.flatMap(([of, available, perProcess]) =>
    available === undefined ? [] : [{ of, available, perProcess }],
  );
}

/** The soft limit of this name; undefined where there is none. */
function readOwnLimit(name: string): number | undefined {
  const line = readText('/proc/self/limits')
    .split('\n')
    .find((each) => each.startsWith(name));
  const value = Number(/^\s*(\d+)/.exec(line?.slice(name.length) ?? '')?.[1] ?? NaN);
  return Number.isNaN(value) ? undefined : value;
}

function readNumber(path: string): number | undefined {
  const text = readText(path).trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
