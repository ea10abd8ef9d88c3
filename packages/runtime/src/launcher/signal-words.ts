import { constants } from 'node:os';

/** What a signal that ended a process usually means. */
const meanings: Readonly<Partial<Record<NodeJS.Signals, string>>> = {
  SIGABRT:
    'it gave up by itself: a failed assertion in native code, or "JavaScript heap out of memory" (NODE_OPTIONS=--max-old-space-size=<MB>)',
  SIGBUS: 'mapped memory is not there: a file that was truncated, or a full /dev/shm',
  SIGFPE: 'an arithmetic error in native code, such as an integer division by zero',
  SIGHUP: 'its terminal is gone, or somebody sent it',
  SIGILL: 'native code for another CPU',
  SIGINT: 'somebody sent it, such as kill -INT',
  SIGQUIT: 'somebody sent it, such as kill -QUIT',
  SIGSEGV: 'native code touched memory that is not its own',
  SIGSYS: 'a system call that a seccomp filter forbids',
  SIGTERM: 'somebody sent it, such as kill or a container that stops',
  SIGTRAP: 'a failed check in native code or V8',
  SIGXCPU: 'the limit of CPU time (ulimit -t)',
};

function signalNumber(signal: NodeJS.Signals): number {
  return constants.signals[signal];
}

/** Exit code that stands for a signal, as in a shell: 137 for SIGKILL. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + signalNumber(signal);
}

/**
 * `SIGSEGV (signal 11: native code touched memory that is not its own)`.
 *
 * @param oomKills Processes of the cgroup that the kernel killed for want of memory meanwhile; undefined where nothing tells.
 */
export function describeSignal(signal: NodeJS.Signals, oomKills: number | undefined): string {
  const meaning = signal === 'SIGKILL' ? meaningOfSigkill(oomKills) : meanings[signal];
  return `${signal} (signal ${signalNumber(signal)}${meaning ? `: ${meaning}` : ''})`;
}

function meaningOfSigkill(oomKills: number | undefined): string {
  if (oomKills === undefined)
    return 'somebody sent it, such as kill -9, or the kernel because memory ran out';
  if (oomKills > 0) return `memory ran out, the cgroup's oom_kill count rose by ${oomKills}`;
  return "somebody sent it, such as kill -9; the cgroup's oom_kill count did not rise, so memory did not run out";
}
