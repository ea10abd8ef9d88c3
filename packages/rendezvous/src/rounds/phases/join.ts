import { lostRounds, mergeLostRounds } from '../lost-rounds.ts';
import { hasSlotFor, reasonToRefuse, returningParticipant } from '../participants.ts';
import type { NodeState } from '../node-state.ts';
import { withParticipant } from '../participant-list.ts';
import { nameOf } from '../rendezvous-state.ts';
import type { Change, NodeInfo, RendezvousState } from '../rendezvous-state.ts';
import { leave, stop, waitFor, waitUntilStopped, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** This node is not a participant yet: it joins, or waits for the next round. */
export function join(state: RendezvousState, nodeState: NodeState, clock: Clock): Step {
  const { node, terms, leaving, workers } = nodeState;
  if (workers.kind === 'running') return stop('lost', true);
  if (workers.kind === 'stopping') return waitUntilStopped();
  const waits = state.waitList.some(({ id }) => id === node.id);
  if (leaving !== undefined) {
    if (!waits) return leave(nodeState);
    const waitList = state.waitList.filter(({ id }) => id !== node.id);
    return write(state, { waitList }, clock, `${nameOf(node)} leaves (${leaving})`, {
      kind: 'left',
      why: leaving,
    });
  }
  const why = reasonToRefuse(node, terms, state);
  if (why !== undefined) return write(state, {}, clock, why, { kind: 'refused', why });
  const knows = mergeLostState(state, nodeState);
  if (state.phase === 'joining' && hasSlotFor(node, state.participants, terms)) {
    const self = returningParticipant(node, nodeState.before);
    const participants = withParticipant(state.participants, self);
    const waitList = state.waitList.filter(({ id }) => id !== node.id);
    const change = { ...knows, participants, waitList, sameNodes: false };
    return write(state, change, clock, `${nameOf(node)} joins`);
  }
  if (!waits)
    return write(
      state,
      { ...knows, waitList: [...state.waitList, node] },
      clock,
      `${nameOf(node)} waits for the next round`,
    );
  return waitFor(() => state.part?.waitsFor ?? describeWait(state, node));
}

/** Merges this node's knowledge of a lost store into the state that other nodes created in a new store. */
function mergeLostState(state: RendezvousState, { before }: NodeState): Change {
  if (!before || before.incarnation === state.incarnation) return {};
  const restartsUsed = Math.max(state.restartsUsed, before.restartsUsed);
  const highestRound = Math.max(state.highestRound, before.highestRound);
  const isBehind = state.phase === 'joining' && state.round <= before.highestRound;
  const round = isBehind ? highestRound + 1 : state.round;
  const mayStillRun = mergeLostRounds(state.mayStillRun, lostRounds(before));
  return { restartsUsed, highestRound: Math.max(highestRound, round), round, mayStillRun };
}

export function describeWait(state: RendezvousState, node: NodeInfo): string {
  const { participants, terms, phase, round } = state;
  const holder =
    terms.backend === 'static' &&
    participants.find((other) => other.node.nodeRank === node.nodeRank && !other.gone);
  if (holder) return `${nameOf(holder.node)}, which has the same rank, to end or to be declared dead`;
  if (participants.length >= terms.max) {
    return `a free slot: ${participants.length} of at most ${terms.max} nodes have joined`;
  }
  return `the next round: round ${round} ${phase === 'ending' ? 'ends' : 'is running'}`;
}
