import { totalmem } from 'node:os';
import { readText } from '../host/host-files.ts';
import { CommandError } from '../command-error.ts';

/** A resource of this node, and the minimum that each process uses. */
export interface Limit {
  /** The resource and its unit, for messages: `MiB of memory`. */
  readonly of: string;
  readonly available: number;
  readonly perProcess: number;
}

/**
 * Refuses more processes than this node can start; otherwise the launcher would start processes until the node fails.
 *
 * @throws CommandError with the tightest limit.
 */
export function refuseTooMany(count: number, limits: readonly Limit[]): void {
  const tightest = limits
    .map((limit) => ({ ...limit, max: Math.max(1, Math.floor(limit.available / limit.perProcess)) }))
    .sort((a, b) => a.max - b.max)
    .at(0);
  if (tightest === undefined || count <= tightest.max) return;
  const { of, available, perProcess, max } = tightest;
  throw new CommandError(
    2,
    `--nproc-per-node: expected at most ${max} processes on this node, got ${count}. The node has ${available} ${of}, ` +
      `and each process needs at least ${perProcess}. Pass a smaller number.`,
  );
}

/** The limits of this node, without those that cannot be read. */
export function readLimits(kind: 'script' | 'program'): Limit[] {
  const isScript = kind === 'script';
  const numbers: [of: string, available: number | undefined, perProcess: number][] = [
    // An idle Node.js process has 11 threads and 20 MiB of private memory.
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

/** The soft limit with this name; undefined if not limited or unknown. */
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
