import { printable, quoted } from '@ringrun/core';
import { isLoopback } from '../store/endpoint.ts';
import { formerRanks } from './lost-rounds.ts';
import { haveNoLoopback } from './participant-list.ts';
import { nameOf } from './rendezvous-state.ts';
import type { JobTerms, NodeInfo, Participant, RendezvousState } from './rendezvous-state.ts';

/** Whether this node can join the round: fewer than max nodes, and with the static rendezvous no node of its rank. */
export function hasSlotFor(node: NodeInfo, participants: readonly Participant[], terms: JobTerms): boolean {
  if (participants.length >= terms.max) return false;
  return terms.backend === 'c10d' || participants.every((other) => other.node.nodeRank !== node.nodeRank);
}

/** Splits the wait list into nodes that join, in the order of their arrival, and nodes that continue to wait. */
export function admit(
  waitList: readonly NodeInfo[],
  participants: readonly Participant[],
  terms: JobTerms,
): { participants: Participant[]; waitList: NodeInfo[] } {
  const admitted = [...participants];
  const left = waitList.filter((node) => {
    if (!hasSlotFor(node, admitted, terms)) return true;
    admitted.push(newParticipant(node));
    return false;
  });
  return { participants: admitted, waitList: left };
}

export function newParticipant(node: NodeInfo, previousRank?: number): Participant {
  return { node, previousRank, formerly: [], report: undefined, gone: undefined };
}

/** A participant in a new store. `before`: the last state of the lost one, as the node knows it. */
export function returningParticipant(node: NodeInfo, before: RendezvousState | undefined): Participant {
  const formerly = formerRanks(before, node);
  const ofLast = before?.phase === 'joining' ? undefined : formerly.at(-1);
  return { ...newParticipant(node, ofLast?.groupRank), formerly };
}

/**
 * Participants in the order of their group ranks: by --node-rank with the static rendezvous. With c10d, nodes of the
 * last round keep their order, so that rank 0 stays on the node that wrote the checkpoints; new nodes follow by name,
 * `worker-2` before `worker-10`.
 */
export function sortByGroupRank(participants: readonly Participant[], terms: JobTerms): Participant[] {
  if (terms.backend === 'static') {
    return participants.toSorted((a, b) => a.node.nodeRank! - b.node.nodeRank!);
  }
  return participants.toSorted(
    (a, b) =>
      (a.previousRank ?? Infinity) - (b.previousRank ?? Infinity) ||
      a.node.host.localeCompare(b.node.host, 'en', { numeric: true }) ||
      a.node.pid - b.node.pid ||
      (a.node.id < b.node.id ? -1 : 1),
  );
}

/** Why a node with these terms cannot join this job; undefined if it can. */
export function reasonToRefuse(node: NodeInfo, terms: JobTerms, state: RendezvousState): string | undefined {
  const theirs = state.terms;
  const here = `${nameOf(node)} cannot join`;
  if (state.verdict)
    return `${here}: the job ${describeVerdict(state)}. Start a new job, with another --rdzv-id or endpoint`;
  if (terms.id !== theirs.id) {
    return `${here}: its --rdzv-id is ${quoted(terms.id)}, but the job at this endpoint has ${quoted(theirs.id)}. Use the same --rdzv-id on all nodes of a job, and one endpoint per job`;
  }
  if (terms.backend !== theirs.backend) {
    return `${here}: its --rdzv-backend is ${terms.backend}, but the job has ${theirs.backend}. Use the same on all nodes`;
  }
  if (terms.min !== theirs.min || terms.max !== theirs.max) {
    return `${here}: its --nnodes is ${describeRange(terms)}, but the job has ${describeRange(theirs)}. Use the same on all nodes`;
  }
  if (!isLoopback(node.address) && haveNoLoopback(state.participants)) return undefined;
  return refuseLoopback([node, ...state.participants.map((other) => other.node)]);
}

/** Refuses a loopback address if there is a node on another machine, which could not reach it. */
function refuseLoopback(nodes: readonly NodeInfo[]): string | undefined {
  const lonely = nodes.find(({ address }) => isLoopback(address));
  const elsewhere = lonely && nodes.find(({ machine }) => machine !== lonely.machine);
  if (!elsewhere) return undefined;
  return (
    `${nameOf(nodes[0])} cannot join: the address of ${nameOf(lonely)} is ${printable(lonely.address)}, a loopback address that ${nameOf(elsewhere)} on another machine cannot reach. ` +
    `Use an endpoint that all nodes can reach, or set the address of ${nameOf(lonely)} with --local-addr`
  );
}

export function describeRange({ min, max }: Pick<JobTerms, 'min' | 'max'>): string {
  return min === max ? `${min}` : `${min}:${max}`;
}

function describeVerdict({ verdict }: RendezvousState): string {
  return verdict?.kind === 'finished' ? 'has finished' : 'has failed';
}
