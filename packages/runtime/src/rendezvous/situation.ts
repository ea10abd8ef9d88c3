import type { Lease } from './lease.ts';
import type { JobTerms, NodeCard, RendezvousState, RootCause, WorkersEnd } from './state.ts';

/** Milliseconds, as --rdzv-conf has them. */
export interface Timing {
  /** How long a node waits for enough others. */
  readonly joinTimeoutMs: number;
  /** How long it waits for more, once there are enough. */
  readonly lastCallMs: number;
  readonly keepAliveIntervalMs: number;
  /** Signs of life that may be missed: their time is the length of a lease. */
  readonly keepAliveMaxAttempts: number;
}

/** The workers of one node, those of round `round`. */
export type Workers =
  | { readonly kind: 'none' }
  | (StartedWorkers & {
      readonly kind: 'running';
      /** Whether one has failed already, so that the others are about to be ended. */
      readonly failing: boolean;
    })
  | (StartedWorkers & {
      readonly kind: 'stopping';
      /** Whether they have to end before the lease does. */
      readonly cutOff: boolean;
    })
  | (Pick<StartedWorkers, 'incarnation' | 'round'> & {
      readonly kind: 'ended';
      readonly end: WorkersEnd;
      readonly cutOff: boolean;
      readonly rootCause: RootCause | undefined;
    });

interface StartedWorkers {
  readonly incarnation: string;
  readonly round: number;
  /** What the lease was when the store was lost: another store renews nothing that this one gave. */
  readonly lostLease: Lease | undefined;
}

/** All that one node knows besides the state in the store. Times are readings of its own clock, which only goes forward. */
export interface Situation {
  readonly card: NodeCard;
  readonly terms: JobTerms;
  readonly timing: Timing;
  /** For the state that this node makes where there is none: a name that no other has. */
  readonly freshName: string;
  /** RINGRUN_RUN_ID where this node makes the state. */
  readonly runId: string;
  /** Why this node is about to go, such as `SIGTERM`. */
  readonly leaving: string | undefined;
  readonly workers: Workers;
  readonly lease: Lease;
  /** Nodes without a sign of life; only the host of the store listens for them. */
  readonly silent: ReadonlySet<string>;
  /** Since when this node waits to be given a rank. */
  readonly joiningSince: number;
  /** Since when it sees this incarnation of the state. */
  readonly incarnationSince: number;
  /** Since when it sees enough nodes gathered for this round. */
  readonly enoughSince: number | undefined;
  /** The state in the store that this node knew before it was lost. */
  readonly before: RendezvousState | undefined;
  /** Free on this host, found for that round. */
  readonly freePort: { readonly round: number; readonly port: number } | undefined;
  /** Whether this node has ever been among those that wait or take part. */
  readonly wasThere: boolean;
}

export function leaseLength({ keepAliveIntervalMs, keepAliveMaxAttempts }: Timing): number {
  return keepAliveIntervalMs * keepAliveMaxAttempts;
}

/** A node that has just been started. */
export function newSituation(
  given: Pick<Situation, 'card' | 'terms' | 'timing' | 'freshName' | 'runId'>,
  now: number,
): Situation {
  return {
    ...given,
    leaving: undefined,
    workers: { kind: 'none' },
    lease: { renewedAt: now, lengthMs: leaseLength(given.timing) },
    silent: new Set(),
    joiningSince: now,
    incarnationSince: now,
    enoughSince: undefined,
    before: undefined,
    freePort: undefined,
    wasThere: false,
  };
}

/** After the state was read: `state` is what is there now, `last` what this node saw before in this store. */
export function onState(
  situation: Situation,
  last: RendezvousState | undefined,
  state: RendezvousState,
  now: number,
): Situation {
  const isNew = last?.incarnation !== state.incarnation;
  const gathers = state.phase === 'joining';
  const gatheredBefore = !isNew && last.phase === 'joining' && last.round === state.round;
  const enough = gathers && state.participants.length >= state.terms.min;
  const hasEnded = last?.phase === 'running' && state.phase !== 'running';
  return {
    ...situation,
    incarnationSince: isNew ? now : situation.incarnationSince,
    joiningSince: hasEnded ? now : situation.joiningSince,
    enoughSince: enough ? ((gatheredBefore ? situation.enoughSince : undefined) ?? now) : undefined,
    wasThere: situation.wasThere || holds(state, situation.card.id),
  };
}

/** After the store was lost with all that was in it. */
export function onStoreLost(
  situation: Situation,
  last: RendezvousState | undefined,
  freshName: string,
  now: number,
): Situation {
  return {
    ...situation,
    before: last ?? situation.before,
    freshName,
    workers: withLostLease(situation),
    joiningSince: now,
    incarnationSince: now,
    enoughSince: undefined,
    silent: new Set(),
  };
}

/** After the workers of the round in `state` were started. */
export function onStarted(situation: Situation, { incarnation, round }: RendezvousState): Situation {
  const workers = { kind: 'running', incarnation, round, failing: false, lostLease: undefined } as const;
  return { ...situation, workers };
}

/** After one of the workers has failed. */
export function onFailing(situation: Situation): Situation {
  const { workers } = situation;
  return workers.kind === 'running' ? { ...situation, workers: { ...workers, failing: true } } : situation;
}

/** After the workers were told to end. */
export function onStopping(situation: Situation, cutOff: boolean): Situation {
  const { workers } = situation;
  if (workers.kind !== 'running' && workers.kind !== 'stopping') return situation;
  const { incarnation, round, lostLease } = workers;
  return { ...situation, workers: { kind: 'stopping', incarnation, round, lostLease, cutOff } };
}

/** After all workers have ended. */
export function onEnded(situation: Situation, end: WorkersEnd, rootCause: RootCause | undefined): Situation {
  const { workers } = situation;
  if (workers.kind !== 'running' && workers.kind !== 'stopping') return situation;
  const { incarnation, round } = workers;
  const cutOff = workers.kind === 'stopping' && workers.cutOff;
  return { ...situation, workers: { kind: 'ended', incarnation, round, end, cutOff, rootCause } };
}

/** After the store has confirmed a sign of life that was sent at `sentAt`. */
export function onRenewed(situation: Situation, sentAt: number): Situation {
  const { lease } = situation;
  return sentAt > lease.renewedAt ? { ...situation, lease: { ...lease, renewedAt: sentAt } } : situation;
}

function withLostLease({ workers, lease }: Situation): Workers {
  const areStarted = workers.kind === 'running' || workers.kind === 'stopping';
  return areStarted ? { ...workers, lostLease: workers.lostLease ?? lease } : workers;
}

/** The lease by which the workers may run. */
export function leaseOfWorkers({ workers, lease }: Situation): Lease {
  const areStarted = workers.kind === 'running' || workers.kind === 'stopping';
  return areStarted ? (workers.lostLease ?? lease) : lease;
}

function holds(state: RendezvousState, id: string): boolean {
  return (
    state.participants.some(({ card }) => card.id === id) || state.waitList.some((card) => card.id === id)
  );
}
