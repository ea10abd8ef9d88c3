import { readFileSync, readlinkSync } from 'node:fs';
import type { Process } from './decide.ts';

/** Two processes with the same value see each other's process ids. Empty if unknown. */
export function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** Whether the process has certainly ended. False if it runs on another or an unknown host. */
export function hasEnded({ pid, space }: Pick<Process, 'pid' | 'space'>, own: string): boolean {
  if (space === '' || space !== own) return false;
  try {
    // The state follows the name, which is in parentheses. Z (zombie): it has ended, but its parent has not reaped it.
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
