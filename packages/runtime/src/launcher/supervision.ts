/**
 * What the launcher does with its workers as a whole; pure, times are milliseconds of one clock.
 *
 * `running` until a worker fails or the launcher is told to end; then `ending`: every worker was sent a signal, and what is left of
 * them at `killAt` is killed.
 */
export type Supervision =
  | { readonly phase: 'running' }
  | {
      readonly phase: 'ending';
      readonly because: 'failure' | 'round over' | NodeJS.Signals;
      readonly since: number;
      readonly killAt: number;
    };

export interface Decision {
  state: Supervision;
  /** To send to the process groups of all workers that are left. */
  send?: NodeJS.Signals;
}

/** Milliseconds that the others get when a worker failed: they cannot finish, and whoever waits for the job can start again. */
export const peerGraceMs = 3000;

/** One Ctrl-C may arrive twice: from the terminal, and from an npm that passes it on. */
const sameKeyPressMs = 500;

export function onWorkerFailed(state: Supervision, now: number): Decision {
  if (state.phase === 'ending') return { state };
  return {
    state: { phase: 'ending', because: 'failure', since: now, killAt: now + peerGraceMs },
    send: 'SIGTERM',
  };
}

/** The nodes have agreed to start all workers anew, or the job is over: these have `withinMs`, even if they were told to end before. */
export function onRoundOver(state: Supervision, now: number, withinMs: number): Decision {
  const killAt = now + withinMs;
  if (state.phase === 'ending') return { state: { ...state, killAt: Math.min(killAt, state.killAt) } };
  return { state: { phase: 'ending', because: 'round over', since: now, killAt }, send: 'SIGTERM' };
}

export function onSignal(
  state: Supervision,
  signal: NodeJS.Signals,
  now: number,
  gracePeriodMs: number,
): Decision {
  if (state.phase === 'running') {
    return {
      state: { phase: 'ending', because: signal, since: now, killAt: now + gracePeriodMs },
      send: signal,
    };
  }
  const isImpatient = signal === 'SIGINT' && now - state.since >= sameKeyPressMs;
  return isImpatient ? { state: { ...state, killAt: now }, send: 'SIGKILL' } : { state };
}

/** Delay of the timer that calls `onTime`. Never negative: Node 21 and later warn about a negative delay. */
export function msUntilKill({ killAt }: Extract<Supervision, { phase: 'ending' }>, now: number): number {
  return Math.max(killAt - now, 0);
}

export function onTime(state: Supervision, now: number): Decision {
  return state.phase === 'ending' && now >= state.killAt ? { state, send: 'SIGKILL' } : { state };
}
