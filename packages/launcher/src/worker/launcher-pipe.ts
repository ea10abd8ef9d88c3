import { hostTime } from './host-time.ts';

/**
 * Contains the descriptor of a pipe that closes when the launcher ends, by any cause: only the launcher has the other
 * end. Then the launcher's pid, because a worker whose launcher ends during its start has another parent.
 */
export const launcherPipeVariable = 'RINGRUN_LAUNCHER_PIPE';

/** The first descriptor after stdin, stdout and stderr. */
export const launcherPipeDescriptor = 3;

/** The value of the variable, such as `3 4711`. */
export function launcherPipeValue(launcherPid: number): string {
  return `${launcherPipeDescriptor} ${launcherPid}`;
}

export function parseLauncherPipe(value: string): { descriptor: number; launcherPid: number } {
  const [descriptor, launcherPid] = value.split(' ').map(Number);
  return { descriptor, launcherPid };
}

/**
 * Makes a worker end in `withinMs` unless another message arrives first. Contains the time on the monotonic clock of
 * the host, so that a process that was stopped meanwhile recognizes an outdated message.
 */
export function leaseMessage(withinMs: number): string {
  return `${Math.round(hostTime() + withinMs)}\n`;
}

/** Why a worker ends whose launcher has sent no lease message in time. */
export function leaseExpired(launcherPid: number): string {
  return (
    `its launcher (pid ${launcherPid}) did not renew the lease of this node in time: ` +
    'the launcher is stopped or overloaded, and the other nodes continue without this one'
  );
}

/** Reads lease messages, of which the pipe may split one. */
export class LeaseMessages {
  #rest = '';

  /** The end of the lease in the last complete message, on the clock of `hostTime`; undefined if there is none. */
  lastEnd(chunk: string): number | undefined {
    const lines = `${this.#rest}${chunk}`.split('\n');
    this.#rest = lines.pop()!;
    const last = lines.at(-1);
    return last === undefined ? undefined : Number(last);
  }
}
