import { threadCount } from '@ringrun/core';

/** TensorFlow's variables for the threads within an operation, and for operations at the same time. */
const names = ['TF_NUM_INTRAOP_THREADS', 'TF_NUM_INTEROP_THREADS'] as const;

/**
 * Variables that give TensorFlow the threads of this rank, which the launcher sets as OMP_NUM_THREADS. libtensorflow does
 * not read that variable: each rank would use all processors of the host. Variables that the user has set are left out.
 */
export function ownThreads(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const threads = threadCount(environment);
  if (threads === undefined) return {};
  const unset = names.filter((name) => environment[name] === undefined);
  return Object.fromEntries(unset.map((name) => [name, String(threads)]));
}
