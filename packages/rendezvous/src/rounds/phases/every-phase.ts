/** Steps that any node may take, in every phase. */
import { describeDeath } from '../lost-nodes.ts';
import type { NodeState } from '../node-state.ts';
import { participantOf } from '../participant-list.ts';
import { changed, nameOf, namesOf } from '../rendezvous-state.ts';
import type { Change, NodeEnd, NodeInfo, Participant, RendezvousState } from '../rendezvous-state.ts';
import { write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** Ends this node if another node has refused it. */
export function readRefusal(state: RendezvousState, { node }: NodeState): Step | undefined {
  const refusal = state.refused.find(({ id }) => id === node.id);
  if (!refusal) return undefined;
  const end: NodeEnd = { kind: 'refused', why: refusal.why };
  const refused = state.refused.filter(({ id }) => id !== node.id);
  return { kind: 'write', state: changed(state, { refused }, []), end };
}

/** Removes nodes without heartbeats. Only the node that serves the store checks them: if it ends, so does the store. */
export function removeDeadNodes(
  state: RendezvousState,
  { silent, node, timing }: NodeState,
  clock: Clock,
): Step | undefined {
  const isSilent = ({ id }: NodeInfo) => id !== node.id && silent.has(id);
  const waiting = state.waitList.filter(isSilent);
  const dead = state.participants.filter((other) => !other.gone && isSilent(other.node));
  if (waiting.length + dead.length === 0) return undefined;
  const nodes = [...waiting, ...dead.map((other) => other.node)];
  const what = `${namesOf(nodes)} ${describeDeath(timing)}`;
  const waitList = state.waitList.filter((other) => !isSilent(other));
  const change =
    state.phase === 'joining' || state.phase === 'closed'
      ? {
          participants: state.participants.filter((other) => !dead.includes(other)),
          sameNodes: state.sameNodes && dead.length === 0,
        }
      : markDead(state, dead);
  return write(state, { ...change, waitList }, clock, what);
}

function markDead(state: RendezvousState, dead: readonly Participant[]): Change {
  const participants = state.participants.map((other) =>
    dead.includes(other) ? { ...other, gone: 'died' as const } : other,
  );
  if (dead.length === 0) return { participants };
  return {
    participants,
    phase: 'ending',
    because: state.because ?? { kind: 'died', by: nameOf(dead[0].node) },
  };
}

/** A live node refuses another node with the same node rank. A dead node cannot, so it is replaced. */
export function refuseDuplicateRank(
  state: RendezvousState,
  { node }: NodeState,
  clock: Clock,
): Step | undefined {
  if (state.terms.backend === 'c10d' || state.phase === 'closed') return undefined;
  const self = participantOf(state.participants, node.id);
  const rival = self && !self.gone && state.waitList.find((other) => other.nodeRank === node.nodeRank);
  if (!rival) return undefined;
  const why = `${nameOf(rival)} cannot join: ${nameOf(node)} already has --node-rank ${node.nodeRank ?? 0}. Give each node its own rank, from 0 to ${state.terms.max - 1}`;
  const change = {
    waitList: state.waitList.filter((other) => other !== rival),
    refused: [...state.refused, { id: rival.id, why }],
  };
  return write(state, change, clock, why);
}
