import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Traces of `nohup` in the process, its parent and its environment. */
export interface HangupEvidence {
  /** `_`, which bash, zsh and ksh set to the path of the command that they execute. */
  command: string | undefined;
  /** /proc/<parent>/status. */
  parentStatus: string | undefined;
  /** Target of stdin, and the text of /proc/self/fdinfo/0. */
  stdin: { path: string | undefined; info: string | undefined };
}

/**
 * Whether this process was started with SIGHUP ignored, as `nohup` does.
 *
 * Node.js resets every signal to its default action at start, so SigIgn in /proc/self/status does not show it. Three
 * traces remain: the shell's variable `_`, a parent that ignores SIGHUP (a script under nohup), and a write-only stdin,
 * which GNU nohup opens in place of a terminal.
 */
export function hangupIsIgnored({ command = '', parentStatus, stdin }: HangupEvidence): boolean {
  if (basename(command) === 'nohup') return true;
  // SIGHUP is signal 1: the lowest bit of the mask.
  if (/^SigIgn:\s*[\da-f]*[13579bdf]$/m.test(parentStatus ?? '')) return true;
  // O_ACCMODE is the lowest two bits, of which O_WRONLY is 1.
  return stdin.path === '/dev/null' && /^flags:\s*[0-7]*[15]$/m.test(stdin.info ?? '');
}

/** Reads the traces of this process. Those that cannot be read, as outside Linux, are undefined. */
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
