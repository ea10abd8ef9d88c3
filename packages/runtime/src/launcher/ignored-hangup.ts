import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** What tells of `nohup`, read from the process, its parent and its environment. */
export interface HangupEvidence {
  /** `_`, which bash, zsh and ksh set to the path of the command that they execute. */
  command: string | undefined;
  /** /proc/<parent>/status. */
  parentStatus: string | undefined;
  /** Where stdin leads, and /proc/self/fdinfo/0. */
  stdin: { path: string | undefined; info: string | undefined };
}

/**
 * Whether this process was started with SIGHUP ignored, as `nohup` does.
 *
 * Node sets every signal back to its default action when it starts, so SigIgn in /proc/self/status no longer shows it. Three traces are left: the shell's
 * name for the command, a parent (a script that runs under nohup) that ignores SIGHUP, and a stdin that GNU nohup opened for writing only, which it does
 * in place of a terminal.
 */
export function hangupIsIgnored({ command = '', parentStatus, stdin }: HangupEvidence): boolean {
  if (basename(command) === 'nohup') return true;
  // SIGHUP is signal 1: the lowest bit of the mask.
  if (/^SigIgn:\s*[\da-f]*[13579bdf]$/m.test(parentStatus ?? '')) return true;
  // O_ACCMODE is the lowest two bits, of which O_WRONLY is 1.
  return stdin.path === '/dev/null' && /^flags:\s*[0-7]*[15]$/m.test(stdin.info ?? '');
}

/** The evidence of this process; what cannot be read (outside of Linux) counts as absent. */
export function readHangupEvidence(): HangupEvidence {
  return {
    command: process.env['_'],
    parentStatus: read(() => readFileSync(`/proc/${process.ppid}/status`, 'utf8')),
    stdin: {
      path: read(() => readlinkSync('/proc/self/fd/0')),
      info: read(() => readFileSync('/proc/self/fdinfo/0', 'utf8')),
    },
  };
}

function read(readText: () => string): string | undefined {
  try {
    return readText();
  } catch {
    return undefined;
  }
}
