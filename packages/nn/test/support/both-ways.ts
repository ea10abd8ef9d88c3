import { programCache } from '../../src/index.ts';
import { setOwnOperators } from '../../src/ops/own/enabled.ts';

/** Computes values with the addon's operators and with plain ones. */
export async function bothWays<T>(compute: () => Promise<T>): Promise<{ own: T; plain: T }> {
  const computed = async (on: boolean) => {
    programCache.clear();
    setOwnOperators(on);
    try {
      return await compute();
    } finally {
      programCache.clear();
      setOwnOperators(true);
    }
  };
  return { own: await computed(true), plain: await computed(false) };
}

/** Computes with this number of threads in each program. */
export async function onThreads<T>(count: number, compute: () => Promise<T>): Promise<T> {
  const before = process.env.OMP_NUM_THREADS;
  process.env.OMP_NUM_THREADS = String(count);
  programCache.clear();
  try {
    return await compute();
  } finally {
    process.env.OMP_NUM_THREADS = before;
    programCache.clear();
  }
}

/** Largest difference from the exact numbers, in units of the last place of the largest exact one. */
export function worstUlps(actual: Float32Array, exact: ArrayLike<number>): number {
  const size = Array.from(exact).reduce((largest, element) => Math.max(largest, Math.abs(element)), 0);
  const ulp = 2 ** (Math.floor(Math.log2(size)) - 23);
  return actual.reduce((worst, element, place) => Math.max(worst, Math.abs(element - exact[place]) / ulp), 0);
}
