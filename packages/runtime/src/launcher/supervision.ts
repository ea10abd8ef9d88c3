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
      /** Workers that are writing a checkpoint then are killed at this time; never before `killAt`. */
      readonly savingUntil: number;
    };

export interface Decision {
  state: Supervision;
  /** To send to the process groups of all workers that are left. */
  send?: NodeJS.Signals;
  /** Whether workers that are writing a checkpoint are left out this time. */
  sparesSaving?: boolean;
}

/** Milliseconds that the others get when a worker failed: they cannot finish, and whoever waits for the job can start again. */
export const peerGraceMs = 3000;

/** One Ctrl-C may arrive twice: from the terminal, and from an npm that passes it on. */
const sameKeyPressMs = 500;

export function onWorkerFailed(state: Supervision, now: number, gracePeriodMs: number): Decision {
  if (state.phase === 'ending') return { state };
  const killAt = now + peerGraceMs;
  const savingUntil = Math.max(killAt, now + gracePeriodMs);
  return { state: { phase: 'ending', because: 'failure', since: now, killAt, savingUntil }, send: 'SIGTERM' };
}

/**
 * The nodes have agreed to start all workers anew, or the job is over: these have `withinMs`, and those that are writing a checkpoint `savingWithinMs`, even if they were told to end before.
 */
export function onRoundOver(
  state: Supervision,
  now: number,
  withinMs: number,
  savingWithinMs = withinMs,
): Decision {
  const [killAt, savingUntil] = [now + withinMs, now + savingWithinMs];
  if (state.phase === 'ending') {
    const sooner = {
      killAt: Math.min(killAt, state.killAt),
      savingUntil: Math.min(savingUntil, state.savingUntil),
    };
    return { state: { ...state, ...sooner } };
  }
  return {
    state: { phase: 'ending', because: 'round over', since: now, killAt, savingUntil },
    send: 'SIGTERM',
  };
}

export function onSignal(
  state: Supervision,
  signal: NodeJS.Signals,
  now: number,
  gracePeriodMs: number,
): Decision {
  if (state.phase === 'running') {
    const killAt = now + gracePeriodMs;
    return {
      state: { phase: 'ending', because: signal, since: now, killAt, savingUntil: killAt },
      send: signal,
    };
  }
  const isImpatient = signal === 'SIGINT' && now - state.since >= sameKeyPressMs;
  return isImpatient ? { state: { ...state, killAt: now, savingUntil: now }, send: 'SIGKILL' } : { state };
}

/** Delay of the timer that calls `onTime`. Never negative: Node 21 and later warn about a negative delay. */
export function msUntilKill({ killAt }: Extract<Supervision, { phase: 'ending' }>, now: number): number {
  return Math.max(killAt - now, 0);
}

export function onTime(state: Supervision, now: number): Decision {
  if (state.phase !== 'ending' || now < state.killAt) return { state };
  return { state, send: 'SIGKILL', ...(now < state.savingUntil ? { sparesSaving: true } : {}) };
}
