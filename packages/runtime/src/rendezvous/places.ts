import { isLoopback } from '../store/endpoint.ts';
import { nameOf } from './state.ts';
import type { JobTerms, NodeCard, Participant, RendezvousState } from './state.ts';

/** Whether there is a place for this node in the round that gathers: fewer than max nodes, and with the static rendezvous nobody of its rank. */
export function hasPlaceFor(card: NodeCard, participants: readonly Participant[], terms: JobTerms): boolean {
  if (participants.length >= terms.max) return false;
  return terms.backend === 'c10d' || participants.every((other) => other.card.nodeRank !== card.nodeRank);
}

/** Those of the wait list that get a place, in the order of their arrival, and those that do not. */
export function admit(
  waitList: readonly NodeCard[],
  participants: readonly Participant[],
  terms: JobTerms,
): { participants: Participant[]; waitList: NodeCard[] } {
  const admitted = [...participants];
  const left = waitList.filter((card) => {
    if (!hasPlaceFor(card, admitted, terms)) return true;
    admitted.push(newParticipant(card));
    return false;
  });
  return { participants: admitted, waitList: left };
}

export function newParticipant(card: NodeCard, previousRank?: number): Participant {
  return { card, previousRank, report: undefined, gone: undefined };
}

/** The group rank that a node had in a state that was lost. */
export function previousRankOf(before: RendezvousState | undefined, { id }: NodeCard): number | undefined {
  const rank =
    before?.phase === 'joining' ? -1 : before?.participants.findIndex(({ card }) => card.id === id);
  return rank === undefined || rank < 0 ? undefined : rank;
}

/** Nodes that may still run a round of a state that was lost. The host of its store ended before that. */
export function mayStillRun(before: RendezvousState | undefined): string[] {
  if (!before) return [];
  const participants = before.participants.filter(
    ({ card, report, gone }) => !report && !gone && !card.hostsStore,
  );
  const running = before.phase === 'joining' ? [] : participants.map(({ card }) => card.id);
  return [...new Set([...before.mayStillRun, ...running])];
}

/**
 * Participants in the order of their group ranks. With the static rendezvous each was told its own. Otherwise those of the last round keep
 * their order, so that rank 0 stays on the node that has written the checkpoints, and newcomers follow by name, `worker-2` before `worker-10`.
 */
export function inOrderOfRank(participants: readonly Participant[], terms: JobTerms): Participant[] {
  if (terms.backend === 'static') {
    return participants.toSorted((a, b) => a.card.nodeRank! - b.card.nodeRank!);
  }
  return participants.toSorted(
    (a, b) =>
      (a.previousRank ?? Infinity) - (b.previousRank ?? Infinity) ||
      a.card.host.localeCompare(b.card.host, 'en', { numeric: true }) ||
      a.card.pid - b.card.pid ||
      (a.card.id < b.card.id ? -1 : 1),
  );
}

/** Why a node with these terms cannot take part in this job; undefined when it can. */
export function refusalOf(card: NodeCard, terms: JobTerms, state: RendezvousState): string | undefined {
  const theirs = state.terms;
  const here = `${nameOf(card)} cannot join`;
  if (state.verdict)
    return `${here}: the job ${describeVerdict(state)}. Start a new job, with another --rdzv-id or endpoint`;
  if (terms.id !== theirs.id) {
    return `${here}: its --rdzv-id is "${terms.id}", and the job at this endpoint is "${theirs.id}". Give all nodes of a job the same one, and each job an endpoint of its own`;
  }
  if (terms.backend !== theirs.backend) {
    return `${here}: its --rdzv-backend is ${terms.backend}, and that of the job is ${theirs.backend}. Give all nodes the same`;
  }
  if (terms.min !== theirs.min || terms.max !== theirs.max) {
    return `${here}: its --nnodes is ${describeRange(terms)}, and that of the job is ${describeRange(theirs)}. Give all nodes the same`;
  }
  return lonelyAddress([card, ...state.participants.map((other) => other.card)]);
}

/** A loopback address leads every node to itself. */
function lonelyAddress(cards: readonly NodeCard[]): string | undefined {
  const lonely = cards.find(({ address }) => isLoopback(address));
  const elsewhere = lonely && cards.find(({ machine }) => machine !== lonely.machine);
  if (!elsewhere) return undefined;
  return (
    `${nameOf(cards[0])} cannot join: the address of ${nameOf(lonely)} is ${lonely.address}, by which ${nameOf(elsewhere)} on another machine reaches itself. ` +
    `Name the endpoint by an address or name that all nodes can reach, or give ${nameOf(lonely)} its own with --local-addr`
  );
}

export function describeRange({ min, max }: Pick<JobTerms, 'min' | 'max'>): string {
  return min === max ? `${min}` : `${min}:${max}`;
}

function describeVerdict({ verdict }: RendezvousState): string {
  return verdict?.kind === 'finished' ? 'is finished' : 'has failed';
}
