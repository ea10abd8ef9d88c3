import { readdirSync, readFileSync } from 'node:fs';

export interface Occupied {
  descriptors: number;
  /** Resident memory. */
  MB: number;
}

/** What a running process occupies (proc(5)). */
export function occupiedBy(pid: number): Occupied {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    MB: Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024,
  };
}
