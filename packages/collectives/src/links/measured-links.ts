import type { Links } from '@ringrun/core';

type Matrix = readonly (readonly number[])[];

/**
 * The links of a table of measurements (`NativeProcessGroup.measureLinks`). Pairs that were not measured are estimated
 * from pairs that were.
 *
 * @param hosts Names.
 * @param table Three matrices of hosts × hosts numbers: delay, bandwidth of each pair alone, and of all at once.
 */
export function linksFromTable(hosts: readonly string[], table: Float64Array): Links {
  const [delay, alone, shared] = [0, 1, 2].map((matrix) => matrixOf(table, matrix, hosts.length));
  const measured = alone.map((row, a) => row.map((rate, b) => Math.max(rate, shared[a][b])));
  const capacity = hosts.map((_, a) => rounded(Math.max(sum(shared[a]), ...measured[a])));
  return { hosts, delay: withDelays(delay), bandwidth: withBandwidths(measured, capacity), capacity };
}

function matrixOf(table: Float64Array, matrix: number, size: number): Matrix {
  return Array.from({ length: size }, (_, row) => {
    const begin = (matrix * size + row) * size;
    return [...table.subarray(begin, begin + size)];
  });
}

/** Two hosts near a third one are near each other; if only one of them is, they are as far as the third is from the other. */
function withDelays(measured: Matrix): Matrix {
  return completed(measured, (a, b) => {
    const ways = measured.map((row, via) => Math.max(measured[a][via], row[b]));
    return Math.min(...ways.filter((_, via) => measured[a][via] > 0 && measured[via][b] > 0));
  });
}

/** The best way over a third host, but not more than both hosts can send. */
function withBandwidths(measured: Matrix, capacity: readonly number[]): Matrix {
  return completed(measured, (a, b) => {
    const ways = measured.map((row, via) => Math.min(measured[a][via], row[b]));
    const most = Math.max(...ways);
    return Math.min(capacity[a], capacity[b], most > 0 ? most : Infinity);
  });
}

function completed(measured: Matrix, estimate: (a: number, b: number) => number): Matrix {
  return measured.map((row, a) =>
    row.map((number, b) => {
      if (a === b) return 0;
      return rounded(number > 0 ? number : estimate(a, b));
    }),
  );
}

/** Three digits: more would only be noise. 0 if nothing is known. */
function rounded(number: number): number {
  return Number.isFinite(number) ? Number(number.toPrecision(3)) : 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
