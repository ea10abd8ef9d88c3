import type { NodeState, Timing } from '../node-state.ts';
import { admit, newParticipant } from '../participants.ts';
import { isIndependent } from '../failure-kind.ts';
import { decideRestart } from '../restart-policy.ts';
import type { Change, EndReason, RendezvousState, RootCause, Verdict } from '../rendezvous-state.ts';
import { nameOf } from '../rendezvous-state.ts';
import { canReplaceNodes, describeDeath, lossOfNode } from '../lost-nodes.ts';
import { write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** A round ends when all workers of all its nodes have ended. The first node that detects it decides the next step. */
export function decideNextRound(
  state: RendezvousState,
  { timing, joiningSince, runningSince }: NodeState,
  clock: Clock,
): Step | undefined {
  if (state.phase !== 'ending' || state.participants.some(({ report, gone }) => !report && !gone))
    return undefined;
  const { terms, because, rootCause } = state;
  const irreplaceable = canReplaceNodes(terms) ? undefined : describeGone(state, timing);
  const decision = decideRestart(
    {
      nodesChanged: nodesChanged(state),
      startUpFailure: rootCause?.startUpFingerprint,
      irreplaceable,
      failedSoon: hasFailed(state) && joiningSince - runningSince < timing.backoff.healthyMs,
    },
    { ...state, maxRestarts: terms.maxRestarts },
    timing.backoff,
  );
  if (decision.kind === 'fail') {
    const isKnown = (rootCause && isIndependent(rootCause.kind)) || irreplaceable === undefined;
    const cause = isKnown ? rootCause : lossOfNode(irreplaceable);
    const verdict: Verdict = { kind: 'failed', reason: decision.reason, rootCause: cause };
    return write(state, { phase: 'closed', verdict }, clock, `the job failed: ${decision.reason}`);
  }
  const { restartsUsed, lastStartUpFailure, quickFailures } = decision.budget;
  const { delayMs } = decision;
  const change = { ...nextRound(state), restartsUsed, lastStartUpFailure, quickFailures, delayMs };
  const what = `round ${state.round} ended: ${describeGone(state, timing) ?? describeEnd(because, rootCause)}; ${decision.reason}`;
  return write(state, change, clock, what);
}

function nodesChanged({ participants, because }: RendezvousState): boolean {
  return participants.some(({ gone }) => gone !== undefined) || because?.kind !== 'failed';
}

/** Whether workers failed or a node died: the workers did not end because a node joined or left. */
function hasFailed({ participants, because }: RendezvousState): boolean {
  return because?.kind === 'failed' || participants.some(({ gone }) => gone === 'died');
}

function nextRound(state: RendezvousState): Change {
  const round = state.highestRound + 1;
  const survivors = state.participants.flatMap(({ node, gone }, rank) =>
    gone ? [] : [newParticipant(node, rank)],
  );
  const { participants, waitList } = admit(state.waitList, survivors, state.terms);
  const sameNodes =
    survivors.length === state.participants.length && participants.length === survivors.length;
  return {
    phase: 'joining',
    round,
    highestRound: round,
    participants,
    waitList,
    sameNodes,
    master: undefined,
    because: undefined,
    rootCause: undefined,
  };
}

/** If nodes left or died, they are the reason; failures of other workers follow from it. */
function describeGone({ participants }: RendezvousState, timing: Timing): string | undefined {
  const gone = participants
    .filter((other) => other.gone)
    .map((other) => `${nameOf(other.node)} ${other.gone === 'died' ? describeDeath(timing) : 'left'}`);
  return gone.length === 0 ? undefined : gone.join(', ');
}

function describeEnd(because: EndReason | undefined, rootCause: RootCause | undefined): string {
  switch (because?.kind) {
    case 'failed':
      return rootCause ? rootCause.headline : `workers of ${because.by} failed`;
    case 'died':
      return `${because.by} died`;
    case 'left':
      return `${because.by} leaves`;
    case 'joined':
      return `${because.by} joined`;
    case 'cut off':
      return `${because.by} lost contact with the store`;
    case undefined:
      return 'all its nodes left or died';
  }
}
