import { hasPlaceFor, mayStillRun, newParticipant, previousRankOf, refusalOf } from '../places.ts';
import type { Situation } from '../situation.ts';
import { nameOf } from '../state.ts';
import type { Change, NodeCard, RendezvousState } from '../state.ts';
import { leave, stop, untilStopped, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** This node is not a participant yet: it joins, or waits for the next round. */
export function comeIn(state: RendezvousState, situation: Situation, clock: Clock): Step {
  const { card, terms, leaving, workers } = situation;
  if (workers.kind === 'running') return stop('lost', true);
  if (workers.kind === 'stopping') return untilStopped();
  const waits = state.waitList.some(({ id }) => id === card.id);
  if (leaving !== undefined) {
    if (!waits) return leave(situation);
    const waitList = state.waitList.filter(({ id }) => id !== card.id);
    return write(state, { waitList }, clock, `${nameOf(card)} leaves (${leaving})`, {
      kind: 'left',
      why: leaving,
    });
  }
  const why = refusalOf(card, terms, state);
  if (why !== undefined) return write(state, {}, clock, why, { kind: 'refused', why });
  const knows = whatIsKnownOf(state, situation);
  if (state.phase === 'joining' && hasPlaceFor(card, state.participants, terms)) {
    const participants = [
      ...state.participants,
      newParticipant(card, previousRankOf(situation.before, card)),
    ];
    const waitList = state.waitList.filter(({ id }) => id !== card.id);
    const change = { ...knows, participants, waitList, sameNodes: false };
    return write(state, change, clock, `${nameOf(card)} joins`);
  }
  if (!waits)
    return write(
      state,
      { ...knows, waitList: [...state.waitList, card] },
      clock,
      `${nameOf(card)} waits for the next round`,
    );
  return { kind: 'wait', reason: describeQueue(state, card) };
}

/** Merges this node's knowledge of a lost store into the state that other nodes created in a new store. */
function whatIsKnownOf(state: RendezvousState, { before }: Situation): Change {
  if (!before || before.incarnation === state.incarnation) return {};
  const restartsUsed = Math.max(state.restartsUsed, before.restartsUsed);
  const highestRound = Math.max(state.highestRound, before.highestRound);
  const isBehind = state.phase === 'joining' && state.round <= before.highestRound;
  const round = isBehind ? highestRound + 1 : state.round;
  const running = [...new Set([...state.mayStillRun, ...mayStillRun(before)])];
  return { restartsUsed, highestRound: Math.max(highestRound, round), round, mayStillRun: running };
}

function describeQueue(state: RendezvousState, card: NodeCard): string {
  const { participants, terms, phase, round } = state;
  const holder =
    terms.backend === 'static' &&
    participants.find((other) => other.card.nodeRank === card.nodeRank && !other.gone);
  if (holder) return `${nameOf(holder.card)}, which has the same rank, to end or to be declared dead`;
  if (participants.length >= terms.max) {
    return `a free place: ${participants.length} of at most ${terms.max} nodes have joined`;
  }
  return `the next round: round ${round} ${phase === 'ending' ? 'ends' : 'is running'}`;
}
