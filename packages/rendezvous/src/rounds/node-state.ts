import type { Lease } from './lease.ts';
import type { RestartBackoff } from './restart-backoff.ts';
import { countOf } from './rendezvous-state.ts';
import type { JobTerms, NodeInfo, RendezvousState, RootCause, WorkersEnd } from './rendezvous-state.ts';

/** Timeouts of --rdzv-conf, in milliseconds. */
export interface Timing {
  /** How long a node waits for the minimum of nodes. */
  readonly joinTimeoutMs: number;
  /** How long it waits for more nodes than the minimum. */
  readonly lastCallMs: number;
  readonly keepAliveIntervalMs: number;
  /** Heartbeats that a node may miss; the time of all of them is the length of a lease. */
  readonly keepAliveMaxAttempts: number;
  /** From the environment. */
  readonly backoff: RestartBackoff;
}

/** The workers of one node in round `round`. */
export type Workers =
  | { readonly kind: 'none' }
  | (WorkersOfRound & {
      readonly kind: 'running';
      /** Whether a worker has failed, so that the others are about to be stopped. */
      readonly failing: boolean;
    })
  | (WorkersOfRound & {
      readonly kind: 'stopping';
      /** Whether they must end before the lease does. */
      readonly cutOff: boolean;
    })
  | (Pick<WorkersOfRound, 'incarnation' | 'round'> & {
      readonly kind: 'ended';
      readonly end: WorkersEnd;
      readonly cutOff: boolean;
      readonly rootCause: RootCause | undefined;
    });

interface WorkersOfRound {
  readonly incarnation: string;
  readonly round: number;
  /** The lease at the time when the store was lost: heartbeats in a new store do not renew it. */
  readonly lostLease: Lease | undefined;
}

/**
 * The local state of one node: everything except the shared state in the store. Times are readings of its monotonic
 * clock.
 */
export interface NodeState {
  readonly node: NodeInfo;
  readonly terms: JobTerms;
  readonly timing: Timing;
  /** Unique name for the incarnation, if this node creates the state. */
  readonly freshName: string;
  /** RINGRUN_RUN_ID, if this node creates the state. */
  readonly runId: string;
  /** Why this node leaves, such as `SIGTERM`; undefined if it stays. */
  readonly leaving: string | undefined;
  readonly workers: Workers;
  readonly lease: Lease;
  /** When this node looked at its state last. */
  readonly lookedAt: number;
  /** Since when the store has not answered: the last renewal, later by the time in which this process was stopped. */
  readonly unansweredSince: number;
  /** Nodes without heartbeats; known only to the node that serves the store. */
  readonly silent: ReadonlySet<string>;
  /** When this node started to wait for a rank. */
  readonly joiningSince: number;
  /** When it first read that the ranks of the last round are assigned. */
  readonly runningSince: number;
  /** When it first read this incarnation of the state. */
  readonly incarnationSince: number;
  /** When it first read that enough nodes have joined this round. */
  readonly enoughSince: number | undefined;
  /** The last state of the store that was lost. */
  readonly before: RendezvousState | undefined;
  /** A free port on this host, found for that round. */
  readonly freePort: { readonly round: number; readonly port: number } | undefined;
  /** Whether this node has ever been a participant or on the wait list. */
  readonly hasJoined: boolean;
}

export function leaseLength({ keepAliveIntervalMs, keepAliveMaxAttempts }: Timing): number {
  return keepAliveIntervalMs * keepAliveMaxAttempts;
}

/** The state of a node that has just started. */
export function newNodeState(
  given: Pick<NodeState, 'node' | 'terms' | 'timing' | 'freshName' | 'runId'>,
  now: number,
): NodeState {
  return {
    ...given,
    leaving: undefined,
    workers: { kind: 'none' },
    lease: { renewedAt: now, lengthMs: leaseLength(given.timing) },
    lookedAt: now,
    unansweredSince: now,
    silent: new Set(),
    joiningSince: now,
    runningSince: now,
    incarnationSince: now,
    enoughSince: undefined,
    before: undefined,
    freePort: undefined,
    hasJoined: false,
  };
}

/** After a read: `state` is the current state, `last` the one that this node read before in this store. */
export function onState(
  nodeState: NodeState,
  last: RendezvousState | undefined,
  state: RendezvousState,
  now: number,
): NodeState {
  const isNew = last?.incarnation !== state.incarnation;
  const isJoining = state.phase === 'joining';
  const wasJoining = !isNew && last.phase === 'joining' && last.round === state.round;
  const enough = isJoining && countOf(state) >= state.terms.min;
  const hasBegun = state.phase === 'running' && (isNew || last.phase !== 'running');
  const hasEnded = last?.phase === 'running' && state.phase !== 'running';
  const joined = joinedSince(last, state);
  return {
    ...nodeState,
    silent: new Set([...nodeState.silent].filter((id) => !joined.has(id))),
    incarnationSince: isNew ? now : nodeState.incarnationSince,
    runningSince: hasBegun ? now : nodeState.runningSince,
    joiningSince: hasEnded ? now : nodeState.joiningSince,
    enoughSince: enough ? ((wasJoining ? nodeState.enoughSince : undefined) ?? now) : undefined,
    hasJoined: nodeState.hasJoined || holds(state, nodeState.node.id),
  };
}

/** The nodes of `state` that were not in the state before. */
export function joinedSince(last: RendezvousState | undefined, state: RendezvousState): ReadonlySet<string> {
  const before = new Set(last ? idsIn(last) : []);
  return new Set(idsIn(state).filter((id) => !before.has(id)));
}

function idsIn({ participants, waitList }: RendezvousState): string[] {
  return [...participants.map(({ node }) => node), ...waitList].map(({ id }) => id);
}

/** After the store was lost with all its data. */
export function onStoreLost(
  nodeState: NodeState,
  last: RendezvousState | undefined,
  freshName: string,
  now: number,
): NodeState {
  return {
    ...nodeState,
    before: last ?? nodeState.before,
    freshName,
    workers: withLostLease(nodeState),
    joiningSince: now,
    incarnationSince: now,
    enoughSince: undefined,
    silent: new Set(),
  };
}

/** After the workers of the round in `state` were started. */
export function onStarted(nodeState: NodeState, { incarnation, round }: RendezvousState): NodeState {
  const workers = { kind: 'running', incarnation, round, failing: false, lostLease: undefined } as const;
  return { ...nodeState, workers };
}

/** After one of the workers has failed. */
export function onFailing(nodeState: NodeState): NodeState {
  const { workers } = nodeState;
  return workers.kind === 'running' ? { ...nodeState, workers: { ...workers, failing: true } } : nodeState;
}

/** After the workers were sent SIGTERM. */
export function onStopping(nodeState: NodeState, cutOff: boolean): NodeState {
  const { workers } = nodeState;
  if (workers.kind !== 'running' && workers.kind !== 'stopping') return nodeState;
  const { incarnation, round, lostLease } = workers;
  return { ...nodeState, workers: { kind: 'stopping', incarnation, round, lostLease, cutOff } };
}

/** After all workers have ended. */
export function onEnded(nodeState: NodeState, end: WorkersEnd, rootCause: RootCause | undefined): NodeState {
  const { workers } = nodeState;
  if (workers.kind !== 'running' && workers.kind !== 'stopping') return nodeState;
  const { incarnation, round } = workers;
  const cutOff = workers.kind === 'stopping' && workers.cutOff;
  return { ...nodeState, workers: { kind: 'ended', incarnation, round, end, cutOff, rootCause } };
}

/** After the store has confirmed a heartbeat that was sent at `sentAt`. */
export function onRenewed(nodeState: NodeState, sentAt: number): NodeState {
  const { lease } = nodeState;
  if (sentAt <= lease.renewedAt) return nodeState;
  const unansweredSince = Math.max(nodeState.unansweredSince, sentAt);
  return { ...nodeState, unansweredSince, lease: { ...lease, renewedAt: sentAt } };
}

/**
 * A look at the state, which a node takes at least every `everyMs`. After a longer time, of more than a heartbeat, this
 * process was stopped, as with SIGSTOP.
 */
export function onLook(nodeState: NodeState, now: number, everyMs: number): NodeState {
  const { lookedAt, unansweredSince, timing } = nodeState;
  const lateMs = now - lookedAt - everyMs;
  const stoppedMs = lateMs > timing.keepAliveIntervalMs ? lateMs : 0;
  return { ...nodeState, lookedAt: now, unansweredSince: unansweredSince + stoppedMs };
}

function withLostLease({ workers, lease }: NodeState): Workers {
  const areStarted = workers.kind === 'running' || workers.kind === 'stopping';
  return areStarted ? { ...workers, lostLease: workers.lostLease ?? lease } : workers;
}

/** The lease within which the workers may run. */
export function leaseOfWorkers({ workers, lease }: NodeState): Lease {
  const areStarted = workers.kind === 'running' || workers.kind === 'stopping';
  return areStarted ? (workers.lostLease ?? lease) : lease;
}

function holds(state: RendezvousState, id: string): boolean {
  return (
    state.participants.some(({ node }) => node.id === id) || state.waitList.some((node) => node.id === id)
  );
}
