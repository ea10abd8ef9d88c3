import { hostTime } from './host-time.ts';

/** Contains what a worker must know of its launcher, see {@link LauncherPipe}. */
export const launcherPipeVariable = 'RINGRUN_LAUNCHER_PIPE';

/** The first descriptor after stdin, stdout and stderr. */
export const launcherPipeDescriptor = 3;

export interface LauncherPipe {
  /** Of a pipe that closes when the launcher ends, by any cause: only the launcher has the other end. */
  descriptor: number;
  /** A worker whose launcher ends during its start has another parent. */
  launcherPid: number;
  /** Milliseconds from the worker's start to that of its helper thread. */
  stackThreadAfterMs: number;
}

/** The value of the variable, such as `3 4711 0`. */
export function launcherPipeValue(launcherPid: number, stackThreadAfterMs: number): string {
  return `${launcherPipeDescriptor} ${launcherPid} ${stackThreadAfterMs}`;
}

export function parseLauncherPipe(value: string): LauncherPipe {
  const [descriptor, launcherPid, stackThreadAfterMs] = value.split(' ').map(Number);
  return { descriptor, launcherPid, stackThreadAfterMs };
}

/**
 * Makes a worker end in `withinMs` unless another message arrives first. Contains the time on the monotonic clock of
 * the host, so that a process that was stopped meanwhile recognizes an outdated message. The addon reads it
 * (native/src/base/launcher_watch.cc).
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
