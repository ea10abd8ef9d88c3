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
 * The whole rendezvous of one node; pure. Computes the next step from the state in the store (undefined if no node has
 * written one), the node's own situation and its clock.
 *
 * Three rules ensure that no rank is assigned twice at one moment:
 *
 * 1. A round starts only after each node of the previous round has reported the end of its workers, or has sent no
 *    heartbeat for a lease.
 * 2. A node stops its workers before its lease expires (lease.ts).
 * 3. In a new store, the first round waits for a lease if absent nodes may still run a round of a lost store: nodes
 * that
 *    the participants know, and unknown ones if there are free places. If the job is full and no participant knows of
 *    another node, there is no wait; otherwise a job with a fixed number of nodes would always start a lease later.
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

/** Whether the lease of the workers is about to expire, also if they are being stopped for another reason. */
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
