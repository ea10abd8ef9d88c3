import { firstCause } from '../first-cause.ts';
import { mustStopAt } from '../lease.ts';
import { hasSlotFor } from '../participants.ts';
import type { NodeState } from '../node-state.ts';
import { withChange } from '../participant-list.ts';
import { nameOf, namesOf } from '../rendezvous-state.ts';
import type { EndReason, NodeInfo, Participant, RendezvousState, RootCause } from '../rendezvous-state.ts';
import { stop, waitFor, waitUntilStopped, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** Ranks are assigned: workers start, run, and finish or fail. */
export function run(state: RendezvousState, nodeState: NodeState, self: Participant, clock: Clock): Step {
  const { node, leaving, workers } = nodeState;
  const mine = workers.kind !== 'none' && workers.round === state.round ? workers : undefined;
  if (leaving !== undefined)
    return endBecause(
      state,
      { kind: 'left', by: nameOf(node) },
      clock,
      `${nameOf(node)} leaves (${leaving})`,
    );
  if (!mine) return startWhenReady(state, nodeState, self, clock);
  if (mine.kind === 'stopping' || (mine.kind === 'ended' && mine.cutOff)) {
    return endBecause(
      state,
      { kind: 'cut off', by: nameOf(node) },
      clock,
      `${nameOf(node)} lost contact with the store and stopped its workers`,
    );
  }
  if ((mine.kind === 'running' && mine.failing) || (mine.kind === 'ended' && mine.end !== 'finished')) {
    return endBecause(
      state,
      { kind: 'failed', by: nameOf(node) },
      clock,
      `workers of ${nameOf(node)} failed`,
    );
  }
  if (mine.kind === 'ended' && !self.report) return reportFinished(state, node, mine.rootCause, clock);
  return endForNewcomer(state, clock) ?? waitFor(() => state.part?.waitsFor ?? describeUnfinished(state));
}

/** A node that waits takes part in the next round, unless a node has already finished its work. */
export function endForNewcomer(state: RendezvousState, clock: Clock): Step | undefined {
  if (state.phase !== 'running' || state.part || state.waitList.length === 0) return undefined;
  const newcomer = state.waitList.find((other) => hasSlotFor(other, state.participants, state.terms));
  if (!newcomer || state.participants.some(({ report }) => report)) return undefined;
  return endBecause(state, { kind: 'joined', by: nameOf(newcomer) }, clock);
}

function startWhenReady(state: RendezvousState, nodeState: NodeState, self: Participant, clock: Clock): Step {
  const { node, freePort, workers, lease } = nodeState;
  if (workers.kind === 'running') return stop('lost', true);
  if (workers.kind === 'stopping') return waitUntilStopped();
  if (clock.now >= mustStopAt(lease))
    return { kind: 'wait', reason: "the store to confirm this node's heartbeat" };
  if (state.master) return { kind: 'start' };
  const isFirst = state.part ? state.part.groupRank === 0 : state.participants[0] === self;
  if (!isFirst) return waitFor(() => state.part?.waitsFor ?? describeSearch(state));
  if (freePort?.round !== state.round) return { kind: 'find-port' };
  return write(state, { master: { address: node.address, port: freePort.port } }, clock);
}

/** @param left A worker that left early, which explains later failures on other nodes. */
function reportFinished(
  state: RendezvousState,
  node: NodeInfo,
  left: RootCause | undefined,
  clock: Clock,
): Step {
  const participants = withChange(state.participants, node.id, { report: 'finished' });
  if (participants.some(({ report }) => report !== 'finished')) {
    const rootCause = firstCause(state.rootCause, left, false);
    return write(state, { participants, rootCause }, clock, `all workers of ${nameOf(node)} have finished`);
  }
  return write(
    state,
    { participants, phase: 'closed', verdict: { kind: 'finished' } },
    clock,
    'the job finished',
  );
}

function endBecause(state: RendezvousState, because: EndReason, clock: Clock, what?: string): Step {
  return write(state, { phase: 'ending', because }, clock, what);
}

export function describeSearch({ participants }: RendezvousState): string {
  return `${nameOf(participants[0].node)} to find a port for rank 0`;
}

export function describeUnfinished({ participants, master }: RendezvousState): string {
  const unfinished = participants.filter(({ report }) => !report).map(({ node }) => node);
  return master ? `the workers of ${namesOf(unfinished)}` : 'the port of rank 0';
}
