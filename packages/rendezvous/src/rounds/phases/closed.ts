import { join } from './join.ts';
import type { NodeState } from '../node-state.ts';
import { withoutParticipant } from '../participant-list.ts';
import type { Participant, RendezvousState } from '../rendezvous-state.ts';
import { stop, waitUntilStopped, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** The job is over: each node removes itself from the state, so that the store server detects when it may stop. */
export function leaveClosed(
  state: RendezvousState,
  nodeState: NodeState,
  self: Participant | undefined,
  clock: Clock,
): Step {
  const { workers, node, hasJoined } = nodeState;
  if (workers.kind === 'running') return stop('closed');
  if (workers.kind === 'stopping') return waitUntilStopped();
  // `join` refuses it with a reason.
  if (!hasJoined) return join(state, nodeState, clock);
  const end = state.verdict!;
  const waits = state.waitList.some(({ id }) => id === node.id);
  if (!self && !waits) return { kind: 'end', end };
  const participants = withoutParticipant(state.participants, node.id);
  const waitList = state.waitList.filter(({ id }) => id !== node.id);
  return write(state, { participants, waitList }, clock, undefined, end);
}

/** Whether nodes other than `id` have not read yet that the job is over. */
export function hasOthers(state: RendezvousState | undefined, id: string): boolean {
  if (state?.phase !== 'closed') return false;
  const present = state.participants.filter(({ gone }) => gone === undefined);
  return [...present.map(({ node }) => node), ...state.waitList].some((other) => other.id !== id);
}
