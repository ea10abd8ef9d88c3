import type { FormerRank, LostRound, NodeInfo, Participant, RendezvousState } from './rendezvous-state.ts';

/** Group ranks that a part of the state names as ended. Nodes that are not named count as running, until they join. */
export const maxEnded = 16;

/**
 * The rounds that nodes may still run after the loss of the store with this state. The node that served the store has ended.
 */
export function lostRounds(before: RendezvousState | undefined): readonly LostRound[] {
  if (!before) return [];
  if (before.phase === 'joining') return before.mayStillRun;
  const { incarnation, round, participants, part } = before;
  const known = part?.ended ?? endedRanks(participants);
  const nodes = part?.nodes ?? participants.length;
  const ended = known.length < nodes ? known : undefined;
  return ended ? [...before.mayStillRun, { incarnation, round, nodes, ended }] : before.mayStillRun;
}

/** Group ranks of the participants that do not run the round any more, or will have ended when the store is lost. */
export function endedRanks(participants: readonly Participant[]): number[] {
  return participants.flatMap(({ node, report, gone }, groupRank) =>
    report !== undefined || gone !== undefined || node.hostsStore ? [groupRank] : [],
  );
}

/** The ranks of a node in rounds of lost stores. */
export function formerRanks(before: RendezvousState | undefined, { id }: NodeInfo): readonly FormerRank[] {
  const index = before?.participants.findIndex(({ node }) => node.id === id) ?? -1;
  if (!before || index < 0) return [];
  const { incarnation, round, part } = before;
  const { formerly } = before.participants[index];
  if (before.phase === 'joining') return formerly;
  return [...formerly, { incarnation, round, groupRank: part?.groupRank ?? index }];
}

/** The rounds of both lists. What one of them knows to have ended has ended. */
export function mergeLostRounds(one: readonly LostRound[], other: readonly LostRound[]): LostRound[] {
  const merged = new Map(one.map((lost) => [nameOf(lost), lost]));
  for (const lost of other) {
    const known = merged.get(nameOf(lost));
    const ended = [...new Set([...(known?.ended ?? []), ...lost.ended])];
    merged.set(nameOf(lost), { ...lost, ended });
  }
  return [...merged.values()];
}

/** Whether nodes that are absent may run a round of a lost store. */
export function absentNodesMayRun({ mayStillRun, participants }: RendezvousState): boolean {
  const back = participants.flatMap(({ formerly }) => formerly);
  return mayStillRun.some((lost) => {
    const ended = new Set(lost.ended);
    for (const former of back) if (nameOf(former) === nameOf(lost)) ended.add(former.groupRank);
    return ended.size < lost.nodes;
  });
}

function nameOf({ incarnation, round }: Pick<LostRound, 'incarnation' | 'round'>): string {
  return `${incarnation} ${round}`;
}
