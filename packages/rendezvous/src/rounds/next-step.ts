import { mustStopAt } from './lease.ts';
import { createState } from './phases/create-state.ts';
import { leaveClosed } from './phases/closed.ts';
import { join } from './phases/join.ts';
import { decideNextRound } from './phases/next-round.ts';
import { endRound } from './phases/end-round.ts';
import { refuseDuplicateRank, readRefusal, removeDeadNodes } from './phases/every-phase.ts';
import { waitForPeers } from './phases/wait-for-peers.ts';
import { run } from './phases/run.ts';
import { leaseOfWorkers } from './node-state.ts';
import type { NodeState } from './node-state.ts';
import { participantOf } from './participant-list.ts';
import type { RendezvousState } from './rendezvous-state.ts';
import { leave, stop, waitUntilStopped } from './step.ts';
import type { Clock, Step } from './step.ts';

/**
 * The whole rendezvous of one node; pure. Computes the next step from the state in the store (undefined if no node has
 * written one), the node's own state and its clock.
 *
 * Three rules ensure that no rank is assigned twice at one moment:
 *
 * 1. A round starts only after each node of the previous round has reported the end of its workers, or has sent no
 *    heartbeat for a lease.
 * 2. A node stops its workers before its lease expires (lease.ts).
 * 3. In a new store, the first round waits for a lease if absent nodes may still run a round of a lost store: nodes
 * that the participants know of, and unknown nodes if there are free slots. If the job is full and no participant knows
 * of
 *    another node, there is no wait; otherwise a job with a fixed number of nodes would always start a lease later.
 */
export function nextStep(state: RendezvousState | undefined, nodeState: NodeState, clock: Clock): Step {
  const { workers } = nodeState;
  if (leaseIsExpiring(nodeState, clock)) return stop('cut off', true);
  if (workers.kind === 'running' && state?.incarnation !== workers.incarnation) return stop('lost', true);
  if (workers.kind === 'stopping' && state?.incarnation !== workers.incarnation) return waitUntilStopped();
  if (!state) return nodeState.leaving ? leave(nodeState) : createState(nodeState, clock);
  if (state.part) return ownStep(state, nodeState, clock);
  return stepForAll(state, nodeState, clock) ?? ownStep(state, nodeState, clock);
}

/** A step that concerns all nodes. The node that serves the store takes it. */
export function stepForAll(state: RendezvousState, nodeState: NodeState, clock: Clock): Step | undefined {
  return removeDeadNodes(state, nodeState, clock) ?? decideNextRound(state, nodeState, clock);
}

/** The step that one node takes, or that the node with the store takes for it. */
export function ownStep(state: RendezvousState, nodeState: NodeState, clock: Clock): Step {
  return (
    readRefusal(state, nodeState) ??
    refuseDuplicateRank(state, nodeState, clock) ??
    stepOfPhase(state, nodeState, clock)
  );
}

/** Whether the lease of the workers is about to expire, even if they are being stopped for another reason. */
function leaseIsExpiring(nodeState: NodeState, { now }: Clock): boolean {
  const { workers } = nodeState;
  const run = workers.kind === 'running' || (workers.kind === 'stopping' && !workers.cutOff);
  return run && now >= mustStopAt(leaseOfWorkers(nodeState));
}

function stepOfPhase(state: RendezvousState, nodeState: NodeState, clock: Clock): Step {
  const self = participantOf(state.participants, nodeState.node.id);
  if (state.phase === 'closed') return leaveClosed(state, nodeState, self, clock);
  if (!self || self.gone) return join(state, nodeState, clock);
  switch (state.phase) {
    case 'joining':
      return waitForPeers(state, nodeState, clock);
    case 'running':
      return run(state, nodeState, self, clock);
    case 'ending':
      return endRound(state, nodeState, self, clock);
  }
}
