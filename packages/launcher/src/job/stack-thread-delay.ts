import type { JobSettings } from './worker-environment.ts';

/** Milliseconds of a processor that the start of one worker takes until the first barrier, with much to spare. */
const startMs = 500;

/**
 * Milliseconds from a worker's start to that of its helper thread. The thread takes a quarter of the processor time of a start,
 * for which all workers of a crowded host would wait. A timeout of an operation starts it earlier.
 */
export function stackThreadDelay({
  usableCpus,
  processesPerNode,
}: Pick<JobSettings, 'usableCpus' | 'processesPerNode'>): number {
  const isCrowded = processesPerNode > 4 * usableCpus;
  return isCrowded ? Math.round((processesPerNode * startMs) / usableCpus) : 0;
}
