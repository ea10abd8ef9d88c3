import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

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
  const open = `/proc/${pid}/fd`;
  const targets = readdirSync(open).map((descriptor) => targetOf(join(open, descriptor)));
  return {
    descriptors: targets.filter((target) => target !== undefined && !target.startsWith(reports)).length,
    MB: Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024,
  };
}

/** Undefined if the descriptor has been closed. */
function targetOf(descriptor: string): string | undefined {
  try {
    return readlinkSync(descriptor);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
