/**
 * How the launcher stops its workers; pure. Times are milliseconds of one clock.
 *
 * `running` until a worker fails or the launcher receives a signal. Then `ending`: every worker was sent a signal, and
 * processes that still run at `killAt` are killed.
 */
export type Supervision =
  | { readonly phase: 'running' }
  | {
      readonly phase: 'ending';
      readonly because: 'failure' | 'round over' | NodeJS.Signals;
      readonly since: number;
      readonly killAt: number;
      /** Workers that are writing a checkpoint at `killAt` are killed at this time, which is not before `killAt`. */
      readonly savingUntil: number;
    };

export interface Decision {
  state: Supervision;
  /** Signal for the process groups of all remaining workers. */
  send?: NodeJS.Signals;
  /** Whether workers that are writing a checkpoint do not receive the signal yet. */
  sparesSaving?: boolean;
}

/**
 * Milliseconds from SIGTERM to SIGKILL for the other workers after a failure: they cannot finish without their peer.
 */
export const peerGraceMs = 3000;

/** Milliseconds. One Ctrl-C may arrive twice within this time: from the terminal, and forwarded by npm. */
const sameKeyPressMs = 500;

export function onWorkerFailed(state: Supervision, now: number, gracePeriodMs: number): Decision {
  if (state.phase === 'ending') return { state };
  const killAt = now + peerGraceMs;
  const savingUntil = Math.max(killAt, now + gracePeriodMs);
  return { state: { phase: 'ending', because: 'failure', since: now, killAt, savingUntil }, send: 'SIGTERM' };
}

/**
 * The nodes have agreed to restart all workers, or the job is over. The workers have `withinMs` to end, those that are
 * writing a checkpoint have `savingWithinMs`, even if they were stopped before.
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
