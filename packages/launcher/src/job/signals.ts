import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { exitCodeOf } from './signal-words.ts';

/** Milliseconds. One Ctrl-C may arrive twice within this time: from the terminal, and forwarded by npm. */
const sameKeyPressMs = 500;

/**
 * The signals that end the launcher. With a listener, the listener handles them. Without one, they end the launcher at
 * once, except just after the workers have ended, when the launcher is about to print its report.
 *
 * SIGHUP is ignored under `nohup`.
 */
export class EndingSignals {
  #listener: ((signal: NodeJS.Signals) => void) | undefined;
  #unheardSince = -Infinity;

  constructor(signals: readonly NodeJS.Signals[]) {
    const ignored = hangupIsIgnored(readHangupEvidence()) ? 'SIGHUP' : undefined;
    for (const signal of signals) {
      process.on(signal, () => {
        // Without this handler, SIGHUP would end the launcher.
        if (signal === ignored) return;
        if (this.#listener) this.#listener(signal);
        else if (performance.now() - this.#unheardSince >= sameKeyPressMs) process.exit(exitCodeOf(signal));
      });
    }
  }

  /** Calls `listener` for each signal until `until` is aborted. Only one listener at a time. */
  listen(listener: (signal: NodeJS.Signals) => void, until: AbortSignal): void {
    this.#listener = listener;
    const leave = (): void => {
      this.#listener = undefined;
      this.#unheardSince = performance.now();
    };
    until.addEventListener('abort', leave, { once: true });
  }
}

/** Traces of `nohup` in the process, its parent and its environment. */
interface HangupEvidence {
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
function hangupIsIgnored({ command = '', parentStatus, stdin }: HangupEvidence): boolean {
  if (basename(command) === 'nohup') return true;
  // SIGHUP is signal 1: the lowest bit of the mask.
  if (/^SigIgn:\s*[\da-f]*[13579bdf]$/m.test(parentStatus ?? '')) return true;
  // O_ACCMODE is the lowest two bits, of which O_WRONLY is 1.
  return stdin.path === '/dev/null' && /^flags:\s*[0-7]*[15]$/m.test(stdin.info ?? '');
}

/** Reads the traces of this process. Those that cannot be read, as outside Linux, are undefined. */
function readHangupEvidence(): HangupEvidence {
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
