import type { Links } from '@ringrun/core';
import { costAlgorithms, operationSeconds } from './operation-seconds.ts';
import { ringOrder } from './ring-order.ts';

/** An algorithm of an operation for arrays of up to `upToBytes` (Infinity: any size). The first rule that fits applies. */
export interface AlgorithmRule {
  /** Name of the operation: `allReduce`. */
  op: string;
  /** Size in bytes of the largest array; Infinity for any. */
  upToBytes: number;
  /** Name of the algorithm, as RINGRUN_ALGORITHM has it. */
  algorithm: string;
}

/** Operations with a choice, and what large arrays use: the algorithm that sends the fewest bytes, in equal streams. */
const operations = { allReduce: 'ring', broadcast: 'chain', allGather: 'ring' } as const;

/** Sizes that are compared, from large to small: 64 MiB to 1 KiB. */
const sizes = Array.from({ length: 9 }, (_, power) => 64 * 2 ** 20 * 4 ** -power);

/** `direct` sends a message from every host to every other: too many in large groups, and slow to simulate. */
const isTooMany = (algorithm: string, hosts: number, bytes: number) =>
  algorithm === 'direct' && hosts > 32 && bytes > 64 * 1024;

/**
 * Another algorithm than that of the next larger size must save this share of the time. Those that use each connection only
 * now and then save less than the model says for large arrays: windows are small at each use, and 4 MB over 100 Mbit/s took
 * 1.4 to 1.9 times the model's time.
 */
function leastGain(algorithm: string, bytes: number): number {
  return bytes > 2 ** 20 && switchesConnections.includes(algorithm) ? 0.5 : 0.1;
}

const switchesConnections: readonly string[] = ['halving-doubling', 'recursive-doubling', 'bruck'];

/**
 * The fastest algorithm of each operation between hosts by the cost model, by size, for arrays of all types but 16-bit
 * floats. Hosts are in the order of `ringOrder(links)`. For one host, no rules.
 */
export function algorithmRules(links: Links): readonly AlgorithmRule[] {
  const hosts = links.hosts.length;
  if (hosts < 2) return [];
  const network = { links, order: ringOrder(links) };
  return Object.entries(operations).flatMap(([name, largest]) => {
    const op = name as keyof typeof operations;
    const rules: AlgorithmRule[] = [{ op, upToBytes: Infinity, algorithm: largest }];
    const secondsOf = (algorithm: string, bytes: number) =>
      operationSeconds({ op, algorithm, bytes }, network);
    /** Whether an algorithm takes the place of the one that is used for larger arrays. */
    const replaces = (algorithm: string, bytes: number): boolean =>
      isTooMany(rules[0].algorithm, hosts, bytes) ||
      secondsOf(algorithm, bytes) <= (1 - leastGain(algorithm, bytes)) * secondsOf(rules[0].algorithm, bytes);
    for (const bytes of sizes) {
      const possible = costAlgorithms(op).filter((algorithm) => !isTooMany(algorithm, hosts, bytes));
      const algorithm = fastestOf(possible, (one) => secondsOf(one, bytes));
      if (algorithm === rules[0].algorithm || !replaces(algorithm, bytes)) continue;
      // Those that switch connections also copy whole arrays, which would take too much memory beyond the largest size.
      if (bytes === sizes[0] && !switchesConnections.includes(algorithm)) {
        rules[0].algorithm = algorithm;
      } else {
        // The next larger size of `sizes` is four times as large.
        const isFasterBeyond =
          bytes !== sizes[0] && !isTooMany(algorithm, hosts, 2 * bytes) && replaces(algorithm, 2 * bytes);
        rules.unshift({ op, upToBytes: isFasterBeyond ? 2 * bytes : bytes, algorithm });
      }
    }
    return rules;
  });
}

function fastestOf(algorithms: readonly string[], secondsOf: (algorithm: string) => number): string {
  const timed = algorithms.map((algorithm) => ({ algorithm, seconds: secondsOf(algorithm) }));
  return timed.reduce((best, one) => (one.seconds < best.seconds ? one : best)).algorithm;
}
