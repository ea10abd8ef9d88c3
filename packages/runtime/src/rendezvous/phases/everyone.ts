/** What concerns every node, whatever its part. */
import { leaseLength } from '../situation.ts';
import type { Situation } from '../situation.ts';
import { changed, nameOf, namesOf } from '../state.ts';
import type { Change, NodeCard, Participant, RendezvousState } from '../state.ts';
import { write } from '../step.ts';
import type { Clock, End, Step } from '../step.ts';

/** Why this node may not take part, once it has come. */
export function refusalToRead(state: RendezvousState, { card }: Situation): Step | undefined {
  const refusal = state.refused.find(({ id }) => id === card.id);
  if (!refusal) return undefined;
  const end: End = { kind: 'refused', why: refusal.why };
  const refused = state.refused.filter(({ id }) => id !== card.id);
  return { kind: 'write', state: changed(state, { refused }, []), end };
}

/** Only the host of the store listens: when it is gone, so is the store. */
export function whatTheHostHears(
  state: RendezvousState,
  { silent, card, timing }: Situation,
  clock: Clock,
): Step | undefined {
  const isSilent = ({ id }: NodeCard) => id !== card.id && silent.has(id);
  const waiting = state.waitList.filter(isSilent);
  const dead = state.participants.filter((other) => !other.gone && isSilent(other.card));
  if (waiting.length + dead.length === 0) return undefined;
  const cards = [...waiting, ...dead.map((other) => other.card)];
  const what = `${namesOf(cards)} died: no sign of life for ${leaseLength(timing) / 1000} s`;
  const waitList = state.waitList.filter((other) => !isSilent(other));
  const change =
    state.phase === 'joining' || state.phase === 'closed'
      ? {
          participants: state.participants.filter((other) => !dead.includes(other)),
          sameNodes: state.sameNodes && dead.length === 0,
        }
      : buryThem(state, dead);
  return write(state, { ...change, waitList }, clock, what);
}

function buryThem(state: RendezvousState, dead: readonly Participant[]): Change {
  const participants = state.participants.map((other) =>
    dead.includes(other) ? { ...other, gone: 'died' as const } : other,
  );
  if (dead.length === 0) return { participants };
  return {
    participants,
    phase: 'ending',
    because: state.because ?? { kind: 'died', by: nameOf(dead[0].card) },
  };
}

/** Whoever holds a node rank, and lives, says so when another comes with the same. One that has died cannot, and is replaced. */
export function objection(state: RendezvousState, { card }: Situation, clock: Clock): Step | undefined {
  if (state.terms.backend === 'c10d' || state.phase === 'closed') return undefined;
  const holds = state.participants.some((other) => other.card.id === card.id && !other.gone);
  const rival = holds && state.waitList.find((other) => other.nodeRank === card.nodeRank);
  if (!rival) return undefined;
  const why = `${nameOf(rival)} cannot join: ${nameOf(card)} has --node-rank ${card.nodeRank ?? 0} already. Give each node a rank of its own, from 0 to ${state.terms.max - 1}`;
  const change = {
    waitList: state.waitList.filter((other) => other !== rival),
    refused: [...state.refused, { id: rival.id, why }],
  };
  return write(state, change, clock, why);
}
