/**
 * Contains the descriptor of a pipe that closes when the launcher ends, by any cause: only the launcher has the other
 * end.
 */
export const launcherPipeVariable = 'RINGRUN_LAUNCHER_PIPE';

/** The first descriptor after stdin, stdout and stderr. */
export const launcherPipeDescriptor = 3;

/**
 * Tells a worker to end in `withinMs` unless another message arrives before. Contains the time on the monotonic clock of
 * the host, so that a process that was stopped in between does not take an old message for a new one.
 */
export function leaseMessage(withinMs: number): string {
  return `${Math.round(monotonicMs() + withinMs)}\n`;
}

/** Why a worker ends whose launcher has sent no lease message in time. */
export function leaseExpired(launcherPid: number): string {
  return (
    `its launcher (pid ${launcherPid}) has not renewed the lease of this node in time: ` +
    'the launcher is stopped or overloaded, and the other nodes go on without this one'
  );
}

/** Reads lease messages, of which the pipe may split one. */
export class LeaseMessages {
  #rest = '';

  /** The end of the lease in the last complete message, on the clock of `monotonicMs`; undefined if there is none. */
  lastEnd(chunk: string): number | undefined {
    const lines = `${this.#rest}${chunk}`.split('\n');
    this.#rest = lines.pop()!;
    const last = lines.at(-1);
    return last === undefined ? undefined : Number(last);
  }
}

/** Milliseconds on the clock that all processes of a host share, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
