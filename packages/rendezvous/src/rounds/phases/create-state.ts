import type { NodeState } from '../node-state.ts';
import { nameOf } from '../rendezvous-state.ts';
import type { Clock, Step } from '../step.ts';
import { lostRounds } from '../lost-rounds.ts';
import { returningParticipant } from '../participants.ts';

/** Creates the first state of a store, including this node's knowledge of a previous store that was lost. */
export function createState({ node, terms, before, freshName, runId }: NodeState, { wall }: Clock): Step {
  const round = (before?.highestRound ?? 0) + 1;
  const again = `${nameOf(node)} restores the job after the loss of the store, with round ${round}`;
  return {
    kind: 'write',
    state: {
      version: 1,
      incarnation: freshName,
      runId,
      terms,
      round,
      highestRound: round,
      phase: 'joining',
      participants: [returningParticipant(node, before)],
      waitList: [],
      sameNodes: false,
      master: undefined,
      because: undefined,
      rootCause: undefined,
      mayStillRun: lostRounds(before),
      roundsBegun: 0,
      restartsUsed: before?.restartsUsed ?? 0,
      lastStartUpFailure: before?.lastStartUpFailure,
      quickFailures: before?.quickFailures ?? 0,
      delayMs: 0,
      verdict: undefined,
      refused: [],
      events: [
        ...(before?.events ?? []),
        { at: wall, what: before ? again : `${nameOf(node)} starts the job` },
      ],
    },
  };
}
