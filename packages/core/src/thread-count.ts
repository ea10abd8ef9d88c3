/** More threads than any machine has processors: libraries abort when they cannot start them. */
const maxThreads = 1024;

/**
 * The number of threads in OMP_NUM_THREADS, at most 1024. Undefined if it is not set or not an integer of at least 1.
 * In a list by nesting level, such as `4,2`, the first number applies, as in OpenMP.
 */
export function threadCount(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const text = environment['OMP_NUM_THREADS']?.split(',', 1)[0].trim() ?? '';
  const threads = text === '' ? NaN : Number(text);
  return Number.isInteger(threads) && threads >= 1 ? Math.min(threads, maxThreads) : undefined;
}
