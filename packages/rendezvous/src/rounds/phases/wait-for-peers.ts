import { absentNodesMayRun } from '../lost-rounds.ts';
import { describeRange, sortByGroupRank } from '../participants.ts';
import { leaseLength } from '../node-state.ts';
import type { NodeState } from '../node-state.ts';
import { withoutParticipant } from '../participant-list.ts';
import { countOf, maxNames, nameOf, namesOf } from '../rendezvous-state.ts';
import type { NodeInfo, RendezvousState } from '../rendezvous-state.ts';
import { waitFor, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** This node has joined and waits until enough nodes have joined. */
export function waitForPeers(state: RendezvousState, nodeState: NodeState, clock: Clock): Step {
  const { node, leaving, timing, joiningSince } = nodeState;
  const without = () => ({
    participants: withoutParticipant(state.participants, node.id),
    sameNodes: false,
  });
  if (leaving !== undefined) {
    return write(state, without(), clock, `${nameOf(node)} leaves (${leaving})`, {
      kind: 'left',
      why: leaving,
    });
  }
  const missing = state.terms.min - countOf(state);
  if (missing <= 0) return waitForRanks(state, nodeState, clock);
  if (clock.now - joiningSince < timing.joinTimeoutMs)
    return waitFor(() => state.part?.waitsFor ?? describeMissing(state, missing));
  const why = `waited ${timing.joinTimeoutMs / 1000} s for ${describeMissing(state, missing)}`;
  return write(state, without(), clock, `${nameOf(node)} timed out: it ${why}`, { kind: 'timed out', why });
}

/** Enough nodes have joined: the ranks are assigned after the delay of a restart and after the last call. */
function waitForRanks(state: RendezvousState, nodeState: NodeState, clock: Clock): Step {
  const delayLeftMs = nodeState.joiningSince + state.delayMs - clock.now;
  if (delayLeftMs > 0) return { kind: 'wait', reason: describeDelay(state, delayLeftMs) };
  const leftMs = lastCallLeft(state, nodeState, clock.now);
  if (leftMs > 0) return { kind: 'wait', reason: describeLastCall(state, leftMs) };
  if (state.part) return { kind: 'wait', reason: 'the node that serves the store to assign the ranks' };
  return assignRanks(state, clock);
}

/** Assigns the ranks, if it is time to do so, for a node that may not take part itself. */
export function beginRound(state: RendezvousState, nodeState: NodeState, clock: Clock): Step | undefined {
  if (state.phase !== 'joining' || state.participants.length < state.terms.min) return undefined;
  const step = waitForRanks(state, nodeState, clock);
  return step.kind === 'write' ? step : undefined;
}

/** Milliseconds for which more nodes may join after the minimum is reached. */
function lastCallLeft(state: RendezvousState, nodeState: NodeState, now: number): number {
  const { enoughSince, incarnationSince, timing } = nodeState;
  const isFull = countOf(state) === state.terms.max || state.sameNodes;
  const lastCallOver = isFull ? now : (enoughSince ?? now) + timing.lastCallMs;
  const lostRoundsOver = mayRunLostRounds(state) ? incarnationSince + leaseLength(timing) : now;
  return Math.max(lastCallOver, lostRoundsOver) - now;
}

/**
 * Whether absent nodes are known to have run a round of a lost store, until their lease expires. Unknown nodes may have
 * run one too: for them, the last call suffices, which by default is longer than a lease.
 */
function mayRunLostRounds(state: RendezvousState): boolean {
  return state.roundsBegun === 0 && absentNodesMayRun(state);
}

function assignRanks(state: RendezvousState, clock: Clock): Step {
  const participants = sortByGroupRank(state.participants, state.terms);
  const names = namesOf(participants.map(({ node }) => node));
  const count = participants.length === 1 ? '1 node' : `${participants.length} nodes`;
  const change = {
    phase: 'running',
    participants,
    roundsBegun: state.roundsBegun + 1,
    mayStillRun: [],
  } as const;
  return write(state, change, clock, `round ${state.round} starts with ${count}: ${names}`);
}

function describeLastCall(state: RendezvousState, leftMs: number): string {
  return `more nodes: ${countOf(state)} of ${describeRange(state.terms)} have joined, and the last call ends in ${Math.ceil(leftMs / 1000)} s`;
}

function describeDelay({ quickFailures }: RendezvousState, leftMs: number): string {
  return `the restart in ${Math.ceil(leftMs / 1000)} s, after ${quickFailures} starts in a row that failed soon`;
}

export function describeMissing({ terms, participants }: RendezvousState, missing: number): string {
  const nodes = participants.map(({ node }) => node);
  const more = `${missing} more ${missing === 1 ? 'node' : 'nodes'}`;
  const which = terms.backend === 'static' ? ` with --node-rank ${absentRanks(nodes, terms.max)}` : '';
  return `${more}${which}; joined: ${namesOf(nodes)}`;
}

/** The first of the ranks that no node has. */
function absentRanks(nodes: readonly NodeInfo[], max: number): string {
  const taken = new Set(nodes.map(({ nodeRank }) => nodeRank));
  const absent: number[] = [];
  for (let rank = 0; rank < max && absent.length <= maxNames; rank += 1)
    if (!taken.has(rank)) absent.push(rank);
  return absent.length > maxNames ? `${absent.slice(0, -1).join(', ')}, …` : absent.join(', ');
}
