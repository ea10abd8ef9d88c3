import type { NodeState } from '../node-state.ts';
import { withChange } from '../participant-list.ts';
import { nameOf, namesOf } from '../rendezvous-state.ts';
import type { NodeEnd, Participant, RendezvousState } from '../rendezvous-state.ts';
import { firstCause } from '../first-cause.ts';
import { stop, waitFor, waitUntilStopped, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** The round ends: this node stops its workers, reports how they ended, and waits for the other nodes. */
export function endRound(
  state: RendezvousState,
  nodeState: NodeState,
  self: Participant,
  clock: Clock,
): Step {
  const { workers, node, leaving } = nodeState;
  if (workers.kind === 'running') return stop(state.because!.kind);
  if (workers.kind === 'stopping') return waitUntilStopped();
  if (!self.report) return reportEnd(state, nodeState, clock);
  if (leaving !== undefined && !self.gone) {
    const participants = withChange(state.participants, node.id, { gone: 'left' });
    return write(state, { participants }, clock, undefined, { kind: 'left', why: leaving });
  }
  return waitFor(() => state.part?.waitsFor ?? describeLate(state));
}

export function describeLate({ participants }: RendezvousState): string {
  const late = participants.filter(({ report, gone }) => !report && !gone);
  return `the workers of ${namesOf(late.map((other) => other.node))} to end`;
}

function reportEnd(state: RendezvousState, { node, workers, leaving }: NodeState, clock: Clock): Step {
  const ended = workers.kind === 'ended' && workers.round === state.round ? workers : undefined;
  const gone = leaving === undefined ? undefined : ('left' as const);
  const participants = withChange(state.participants, node.id, { report: ended?.end ?? 'stopped', gone });
  const detectedFirst = state.because?.by === nameOf(node);
  const rootCause = firstCause(state.rootCause, ended?.rootCause, detectedFirst);
  const end: NodeEnd | undefined = leaving === undefined ? undefined : { kind: 'left', why: leaving };
  return write(state, { participants, rootCause }, clock, undefined, end);
}
