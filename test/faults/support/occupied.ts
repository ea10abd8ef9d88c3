import { readFileSync } from 'node:fs';
import { descriptorTargets } from './descriptors.ts';

export interface Occupied {
  descriptors: number;
  threads: number;
  mappings: number;
  /** Resident memory. */
  MB: number;
}

/**
 * Resources of a running process (proc(5)).
 *
 * @param reports folder of the files that the test reads: a file there has its content before the process closes it, so
 * its descriptor is not counted
 */
export function occupiedBy(pid: number, reports: string): Occupied {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    descriptors: descriptorTargets(pid).filter((target) => !target.startsWith(reports)).length,
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)![1]),
    mappings: readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n').length,
    MB: Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024,
  };
}
