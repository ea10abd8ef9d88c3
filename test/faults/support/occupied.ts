import { readFileSync } from 'node:fs';
import { descriptorTargets } from './descriptors.ts';

export interface Occupied {
  descriptors: number;
  /** Resident memory. */
  MB: number;
}

/**
 * What a running process occupies (proc(5)).
 *
 * @param reports folder to which it writes what the test reads: a file there has its content before the process closes it,
 * so its descriptor does not count
 */
export function occupiedBy(pid: number, reports: string): Occupied {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    descriptors: descriptorTargets(pid).filter((target) => !target.startsWith(reports)).length,
    MB: Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024,
  };
}
