import { endedRanks, maxEnded } from './lost-rounds.ts';
import { describeWait } from './phases/join.ts';
import { describeLate } from './phases/end-round.ts';
import { describeSearch, describeUnfinished } from './phases/run.ts';
import { describeMissing } from './phases/wait-for-peers.ts';
import { maxNames } from './rendezvous-state.ts';
import type { NodeEnd, NodeInfo, Part, Participant, RendezvousState } from './rendezvous-state.ts';

/** Events in a part of the state of a large job. */
const fewEvents = 16;

/** The whole state, with what the parts of all nodes have in common. */
export interface Parts {
  readonly state: RendezvousState;
  /** Whether each node reads what happens to the others at once. In a large job, that would be N² messages. */
  readonly isSmall: boolean;
  readonly common: Pick<Part, 'nodes' | 'processesPerNode' | 'ended' | 'waitsFor'>;
  readonly servers: readonly Participant[];
  readonly ranks: ReadonlyMap<string, number>;
  readonly waiting: ReadonlyMap<string, NodeInfo>;
}

export function partsOf(state: RendezvousState): Parts {
  const { participants, waitList, phase } = state;
  const isSmall = participants.length + waitList.length <= maxNames;
  const hasRanks = phase !== 'joining';
  return {
    state,
    isSmall,
    common: {
      nodes: participants.length,
      processesPerNode: hasRanks ? runsOf(participants) : [],
      ended: hasRanks ? endedOf(participants) : [],
      waitsFor: isSmall ? describePhase(state) : 'the other nodes',
    },
    servers: participants.filter(({ node }) => node.hostsStore),
    ranks: new Map(participants.map(({ node }, rank) => [node.id, rank])),
    waiting: new Map(waitList.map((node) => [node.id, node])),
  };
}

/** The nodes that have a part. */
export function nodesWithPart({ participants, waitList, refused }: RendezvousState): string[] {
  return [...participants.map(({ node }) => node), ...waitList, ...refused].map(({ id }) => id);
}

/** The part of the state that concerns a node. `end`: how its part in the job ends. */
export function partOf(
  { state, isSmall, common, servers, ranks, waiting }: Parts,
  id: string,
  end?: NodeEnd,
) {
  const { participants, terms, phase, events, refused } = state;
  const rank = ranks.get(id);
  const self = rank === undefined ? undefined : participants[rank];
  const waits = waiting.get(id);
  const others = servers.filter((other) => other !== self);
  const mine = self ? [self, ...others] : others;
  // Only the node with this rank can refuse another one: it is alive.
  const rivals = terms.backend === 'static' && self ? rivalsOf(state, self) : [];
  const part: Part = {
    ...common,
    waitsFor: waits && !self ? describeWait(state, waits) : common.waitsFor,
    groupRank: phase === 'joining' || self?.gone ? undefined : rank,
    end,
  };
  return {
    ...state,
    part,
    participants: mine,
    waitList: waits ? [waits] : rivals,
    refused: refused.filter((other) => other.id === id),
    rootCause: phase === 'closed' || phase === 'ending' ? state.rootCause : undefined,
    events: isSmall ? events : events.slice(-fewEvents),
  } satisfies RendezvousState;
}

/**
 * Whether a node must read its new part. In a large job it learns the number of the others, what they wait for, and what
 * happened to them together with what concerns itself.
 */
export function concerns(
  last: RendezvousState | undefined,
  next: RendezvousState,
  isSmall: boolean,
): boolean {
  if (!last) return true;
  if (isSmall) return essence(last, isSmall) !== essence(next, isSmall);
  // Ranks without a port for rank 0 are of no use to the other nodes.
  const isEarly = next.phase === 'running' && !next.master && next.part?.groupRank !== 0;
  return !(isEarly && next.part?.end === undefined) && essence(last, isSmall) !== essence(next, isSmall);
}

function essence(state: RendezvousState, isSmall: boolean): string {
  const { part, participants, ...rest } = state;
  if (isSmall) return JSON.stringify({ ...rest, part, participants, version: 0 });
  const { phase, round, incarnation, waitList, refused, master, verdict } = rest;
  const [self] = participants;
  const { end, groupRank } = part!;
  const own = { end, groupRank, self };
  return JSON.stringify({ ...own, phase, round, incarnation, waitList, refused, master, verdict });
}

function describePhase(state: RendezvousState): string {
  switch (state.phase) {
    case 'joining':
      return describeMissing(state, state.terms.min - state.participants.length);
    case 'running':
      return state.master ? describeUnfinished(state) : describeSearch(state);
    case 'ending':
      return describeLate(state);
    case 'closed':
      return 'the job to end';
  }
}

function endedOf(participants: readonly Participant[]): number[] {
  const ranks = endedRanks(participants);
  const ofServers = ranks.filter((rank) => participants[rank].node.hostsStore);
  return [...new Set([...ofServers, ...ranks.slice(0, maxEnded)])];
}

function rivalsOf({ waitList }: RendezvousState, { node, gone }: Participant): NodeInfo[] {
  return gone ? [] : waitList.filter(({ id, nodeRank }) => id !== node.id && nodeRank === node.nodeRank);
}

/** Run lengths: most jobs have the same number of workers on every node. */
function runsOf(participants: readonly Participant[]): Part['processesPerNode'] {
  const runs: [number, number][] = [];
  for (const { node } of participants) {
    const last = runs.at(-1);
    if (last?.[0] === node.processesPerNode) last[1] += 1;
    else runs.push([node.processesPerNode, 1]);
  }
  return runs;
}
