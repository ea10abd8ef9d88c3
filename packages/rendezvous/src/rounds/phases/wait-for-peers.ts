import { describeRange, sortByGroupRank } from '../participants.ts';
import { leaseLength } from '../node-state.ts';
import type { NodeState } from '../node-state.ts';
import { nameOf, namesOf } from '../rendezvous-state.ts';
import type { RendezvousState } from '../rendezvous-state.ts';
import { write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** This node has joined and waits until enough nodes have joined. */
export function waitForPeers(state: RendezvousState, nodeState: NodeState, clock: Clock): Step {
  const { node, leaving, timing, joiningSince } = nodeState;
  const others = state.participants.filter((other) => other.node.id !== node.id);
  const without = { participants: others, sameNodes: false };
  if (leaving !== undefined) {
    return write(state, without, clock, `${nameOf(node)} leaves (${leaving})`, {
      kind: 'left',
      why: leaving,
    });
  }
  const missing = state.terms.min - state.participants.length;
  if (missing <= 0) {
    const delayLeftMs = joiningSince + state.delayMs - clock.now;
    if (delayLeftMs > 0) return { kind: 'wait', reason: describeDelay(state, delayLeftMs) };
    const leftMs = lastCallLeft(state, nodeState, clock.now);
    return leftMs > 0 ? { kind: 'wait', reason: describeLastCall(state, leftMs) } : assignRanks(state, clock);
  }
  if (clock.now - joiningSince < timing.joinTimeoutMs)
    return { kind: 'wait', reason: describeMissing(state, missing) };
  const why = `waited ${timing.joinTimeoutMs / 1000} s for ${describeMissing(state, missing)}`;
  return write(state, without, clock, `${nameOf(node)} timed out: it ${why}`, { kind: 'timed out', why });
}

/** Milliseconds for which more nodes may join after the minimum is reached. */
function lastCallLeft(state: RendezvousState, nodeState: NodeState, now: number): number {
  const { enoughSince, incarnationSince, timing } = nodeState;
  const isFull = state.participants.length === state.terms.max || state.sameNodes;
  const lastCallOver = isFull ? now : (enoughSince ?? now) + timing.lastCallMs;
  const lostRoundsOver = absentNodesMayRun(state) ? incarnationSince + leaseLength(timing) : now;
  return Math.max(lastCallOver, lostRoundsOver) - now;
}

/**
 * Whether absent nodes are known to have run a round of a lost store, until their lease expires. Unknown nodes may have
 * run one too: for them, the last call suffices, which by default is longer than a lease.
 */
function absentNodesMayRun(state: RendezvousState): boolean {
  const here = new Set(state.participants.map(({ node }) => node.id));
  return state.roundsBegun === 0 && state.mayStillRun.some((id) => !here.has(id));
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

function describeLastCall({ participants, terms }: RendezvousState, leftMs: number): string {
  return `more nodes: ${participants.length} of ${describeRange(terms)} have joined, and the last call ends in ${Math.ceil(leftMs / 1000)} s`;
}

function describeDelay({ quickFailures }: RendezvousState, leftMs: number): string {
  return `the restart in ${Math.ceil(leftMs / 1000)} s, after ${quickFailures} starts in a row that failed soon`;
}

function describeMissing({ terms, participants }: RendezvousState, missing: number): string {
  const nodes = participants.map(({ node }) => node);
  const more = `${missing} more ${missing === 1 ? 'node' : 'nodes'}`;
  const ranks = Array.from({ length: terms.max }, (_, rank) => rank);
  const absent = ranks.filter((rank) => nodes.every(({ nodeRank }) => nodeRank !== rank));
  const which = terms.backend === 'static' ? ` with --node-rank ${absent.join(', ')}` : '';
  return `${more}${which}; joined: ${namesOf(nodes)}`;
}
