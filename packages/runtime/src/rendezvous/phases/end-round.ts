import type { Situation } from '../situation.ts';
import { nameOf, namesOf, withChange } from '../state.ts';
import type { Participant, RendezvousState, RootCause } from '../state.ts';
import { stop, untilStopped, write } from '../step.ts';
import type { Clock, End, Step } from '../step.ts';

/** The round ends: this node stops its workers, reports how they ended, and waits for the other nodes. */
export function endRound(
  state: RendezvousState,
  situation: Situation,
  self: Participant,
  clock: Clock,
): Step {
  const { workers, card, leaving } = situation;
  if (workers.kind === 'running') return stop(state.because!.kind);
  if (workers.kind === 'stopping') return untilStopped();
  if (!self.report) return reportEnd(state, situation, clock);
  if (leaving !== undefined && !self.gone) {
    const participants = withChange(state.participants, card.id, { gone: 'left' });
    return write(state, { participants }, clock, undefined, { kind: 'left', why: leaving });
  }
  const late = state.participants.filter(({ report, gone }) => !report && !gone);
  return { kind: 'wait', reason: `the workers of ${namesOf(late.map((other) => other.card))} to end` };
}

function reportEnd(state: RendezvousState, { card, workers, leaving }: Situation, clock: Clock): Step {
  const ended = workers.kind === 'ended' && workers.round === state.round ? workers : undefined;
  const gone = leaving === undefined ? undefined : ('left' as const);
  const participants = withChange(state.participants, card.id, { report: ended?.end ?? 'stopped', gone });
  const noticedFirst = state.because?.by === nameOf(card);
  const rootCause = earlierCause(state.rootCause, ended?.rootCause, noticedFirst);
  const end: End | undefined = leaving === undefined ? undefined : { kind: 'left', why: leaving };
  return write(state, { participants, rootCause }, clock, undefined, end);
}

/** Prefers a failure that is not a consequence of another one; otherwise the failure that ended the round. */
function earlierCause(
  known: RootCause | undefined,
  own: RootCause | undefined,
  noticedFirst: boolean,
): RootCause | undefined {
  if (!known || !own) return known ?? own;
  if (known.isConsequence !== own.isConsequence) return known.isConsequence ? own : known;
  return noticedFirst ? own : known;
}
