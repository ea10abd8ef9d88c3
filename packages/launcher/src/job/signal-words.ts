import { constants } from 'node:os';

/** The usual cause of a signal that ended a process. */
const meanings: Readonly<Partial<Record<NodeJS.Signals, string>>> = {
  SIGABRT:
    'the process aborted: a failed assertion in native code, or "JavaScript heap out of memory" (NODE_OPTIONS=--max-old-space-size=<MB>)',
  SIGBUS: 'access to mapped memory without storage: a truncated file, or a full /dev/shm',
  SIGFPE: 'an arithmetic error in native code, such as an integer division by zero',
  SIGHUP: 'its terminal closed, or another process sent it',
  SIGILL: 'native code compiled for another CPU',
  SIGINT: 'another process sent it, such as kill -INT',
  SIGQUIT: 'another process sent it, such as kill -QUIT',
  SIGSEGV: 'native code accessed invalid memory',
  SIGSYS: 'a system call forbidden by a seccomp filter',
  SIGTERM: 'another process sent it, such as kill, or its container was stopped',
  SIGTRAP: 'a failed check in native code or V8',
  SIGXCPU: 'the limit of CPU time was reached (ulimit -t)',
};

function signalNumber(signal: NodeJS.Signals): number {
  return constants.signals[signal];
}

/** Exit code for a signal, as in a shell: 137 for SIGKILL. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + signalNumber(signal);
}

/**
 * Returns, for example, `SIGSEGV (signal 11: native code accessed invalid memory)`.
 *
 * @param oomKills Processes of the cgroup that the OOM killer ended during the run; undefined if not available.
 */
export function describeSignal(signal: NodeJS.Signals, oomKills: number | undefined): string {
  const meaning = signal === 'SIGKILL' ? meaningOfSigkill(oomKills) : meanings[signal];
  return `${signal} (signal ${signalNumber(signal)}${meaning ? `: ${meaning}` : ''})`;
}

function meaningOfSigkill(oomKills: number | undefined): string {
  if (oomKills === undefined)
    return 'another process sent it, such as kill -9, or the OOM killer of the kernel';
  if (oomKills > 0) return `out of memory: the cgroup's oom_kill count increased by ${oomKills}`;
  return "another process sent it, such as kill -9; not the OOM killer, as the cgroup's oom_kill count did not increase";
}
