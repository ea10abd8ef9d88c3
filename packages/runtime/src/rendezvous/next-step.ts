import { mustStopAt } from './lease.ts';
import { begin } from './phases/begin.ts';
import { leaveClosed } from './phases/closed.ts';
import { comeIn } from './phases/come-in.ts';
import { conclude } from './phases/conclude.ts';
import { endRound } from './phases/end-round.ts';
import { objection, refusalToRead, whatTheHostHears } from './phases/everyone.ts';
import { gather } from './phases/gather.ts';
import { run } from './phases/run.ts';
import { leaseOfWorkers } from './situation.ts';
import type { Situation } from './situation.ts';
import type { RendezvousState } from './state.ts';
import { leave, stop, untilStopped } from './step.ts';
import type { Clock, Step } from './step.ts';

/**
 * The whole rendezvous, as one node sees it: from what is in the store, what it knows itself, and its clock, to what it does next; pure.
 * `state` is undefined where nobody has begun.
 *
 * That no rank is given twice at one moment rests on three rules. A round begins only when each node of the round before has said that its
 * workers have ended, or has been silent for a lease. A node ends its workers before its lease is over (lease.ts). And a state in a new store waits
 * for a lease before its first round, where nodes that are not here may still run one of a store that was lost: those that the ones here know of, and
 * unknown ones where there are places left. (Nodes that know nothing, and are so many that others are left out, do not wait: a fixed number
 * of nodes would start a lease later each time.)
 */
export function nextStep(state: RendezvousState | undefined, situation: Situation, clock: Clock): Step {
  const { workers } = situation;
  if (isToBeCutOff(situation, clock)) return stop('cut off', true);
  if (workers.kind === 'running' && state?.incarnation !== workers.incarnation) return stop('lost', true);
  if (workers.kind === 'stopping' && state?.incarnation !== workers.incarnation) return untilStopped();
  if (!state) return situation.leaving ? leave(situation) : begin(situation, clock);
  return (
    refusalToRead(state, situation) ??
    whatTheHostHears(state, situation, clock) ??
    objection(state, situation, clock) ??
    conclude(state, clock) ??
    ownPart(state, situation, clock)
  );
}

/** Workers that have been told to end have no more time than others. */
function isToBeCutOff(situation: Situation, { now }: Clock): boolean {
  const { workers } = situation;
  const run = workers.kind === 'running' || (workers.kind === 'stopping' && !workers.cutOff);
  return run && now >= mustStopAt(leaseOfWorkers(situation));
}

function ownPart(state: RendezvousState, situation: Situation, clock: Clock): Step {
  const self = state.participants.find(({ card }) => card.id === situation.card.id);
  if (state.phase === 'closed') return leaveClosed(state, situation, self, clock);
  if (!self || self.gone) return comeIn(state, situation, clock);
  switch (state.phase) {
    case 'joining':
      return gather(state, situation, clock);
    case 'running':
      return run(state, situation, self, clock);
    case 'ending':
      return endRound(state, situation, self, clock);
  }
}
