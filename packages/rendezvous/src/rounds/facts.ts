import type { NodeState } from './node-state.ts';
import { participantOf } from './participant-list.ts';
import type { RendezvousState } from './rendezvous-state.ts';

/** What a node tells the node that serves the store, which then takes the node's step. */
export interface NodeFacts extends Pick<
  NodeState,
  'node' | 'terms' | 'timing' | 'runId' | 'leaving' | 'workers' | 'before' | 'freePort' | 'hasJoined'
> {
  /** The round in the node's part of the state; 0 before its first. Facts of an earlier round are out of date. */
  readonly round: number;
  /** Whether it has read that the job is over. */
  readonly hasReadVerdict: boolean;
  /** Number of the message, from 1 for each node. */
  readonly message: number;
  /** Serial number of its newest part of the state; 0 before its first. */
  readonly serial: number;
  /** Milliseconds since `joiningSince`: the clocks of two hosts are never compared. */
  readonly joiningMs: number;
}

export function factsOf(
  nodeState: NodeState,
  state: RendezvousState | undefined,
  now: number,
): Omit<NodeFacts, 'message' | 'serial'> {
  const { node, terms, timing, runId, leaving, workers, before, freePort, hasJoined } = nodeState;
  // Only a new store has not read the last state of a lost one.
  const isKnown = state !== undefined && state.participants.some((other) => other.node.id === node.id);
  return {
    ...{ node, terms, timing, runId, leaving, workers, freePort, hasJoined },
    before: isKnown || !before ? undefined : { ...before, events: [] },
    round: state?.round ?? 0,
    hasReadVerdict: state?.verdict !== undefined,
    joiningMs: now - nodeState.joiningSince,
  };
}

/** The local state of a node, as the node that serves the store knows it. `own`: that node's. */
export function nodeStateOf(
  { round: _1, message: _2, serial: _3, hasReadVerdict: _4, joiningMs, ...facts }: NodeFacts,
  own: NodeState,
  now: number,
): NodeState {
  // A node itself watches its lease, and waits for the last call of the node that serves the store.
  const lease = { ...own.lease, renewedAt: now };
  return { ...own, ...facts, lease, silent: new Set(), joiningSince: now - joiningMs };
}

/** Whether the facts are older than the state, by a round of the node. */
export function isOutOfDate({ node, round }: NodeFacts, state: RendezvousState): boolean {
  const self = participantOf(state.participants, node.id);
  return self !== undefined && !self.gone && round > 0 && round !== state.round;
}
