import { isLoopback } from '../store/endpoint.ts';
import type { Participant } from './rendezvous-state.ts';

/** What is known of one or more lists of participants, of which each follows from another. */
interface Index {
  /** The place of each node in one of the lists. */
  readonly places: Map<string, number>;
  /** Whether any of the nodes has a loopback address. */
  hasLoopback: boolean;
}

/** Participants among which a search is faster than an index. */
const fewNodes = 16;

/**
 * The node that serves the store takes the steps of all others, one message after the other. A search through the list for each
 * would take N² steps, and so would an index for each list: a changed list has the index of the former one.
 */
const indexes = new WeakMap<readonly Participant[], Index>();

/** The participant with this id. */
export function participantOf(participants: readonly Participant[], id: string): Participant | undefined {
  return participants.at(placeOf(participants, id) ?? participants.length);
}

/** Whether no participant has a loopback address. False if it is unknown. */
export function haveNoLoopback(participants: readonly Participant[]): boolean {
  if (participants.length <= fewNodes) return !participants.some(({ node }) => isLoopback(node.address));
  return !indexOf(participants).hasLoopback;
}

export function withParticipant(
  participants: readonly Participant[],
  participant: Participant,
): readonly Participant[] {
  const next = [...participants, participant];
  if (next.length <= fewNodes) return next;
  const index = indexOf(participants);
  index.places.set(participant.node.id, participants.length);
  index.hasLoopback ||= isLoopback(participant.node.address);
  indexes.set(next, index);
  return next;
}

/** Returns the participants with `change` applied to the one with this id. */
export function withChange(
  participants: readonly Participant[],
  id: string,
  change: Partial<Omit<Participant, 'node'>>,
): readonly Participant[] {
  const place = placeOf(participants, id);
  if (place === undefined) return participants;
  return follow(participants, participants.with(place, { ...participants[place], ...change }));
}

export function withoutParticipant(participants: readonly Participant[], id: string): readonly Participant[] {
  const place = placeOf(participants, id);
  return place === undefined ? participants : follow(participants, participants.toSpliced(place, 1));
}

function placeOf(participants: readonly Participant[], id: string): number | undefined {
  const isIt = ({ node }: Participant) => node.id === id;
  if (participants.length > fewNodes) {
    const place = indexOf(participants).places.get(id);
    if (place === undefined) return undefined;
    if (participants.at(place)?.node.id === id) return place;
    // It has another place in another list with this index.
  }
  const place = participants.findIndex(isIt);
  return place < 0 ? undefined : place;
}

function follow(participants: readonly Participant[], next: readonly Participant[]): readonly Participant[] {
  const index = indexes.get(participants);
  if (index) indexes.set(next, index);
  return next;
}

function indexOf(participants: readonly Participant[]): Index {
  const known = indexes.get(participants);
  if (known) return known;
  const places = new Map(participants.map(({ node }, place) => [node.id, place]));
  const index = { places, hasLoopback: participants.some(({ node }) => isLoopback(node.address)) };
  indexes.set(participants, index);
  return index;
}
