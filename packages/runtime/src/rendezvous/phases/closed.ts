import { comeIn } from './come-in.ts';
import type { Situation } from '../situation.ts';
import type { Participant, RendezvousState } from '../state.ts';
import { stop, untilStopped, write } from '../step.ts';
import type { Clock, Step } from '../step.ts';

/** The job is over: each node removes itself from the state, so that the store server knows when it may stop. */
export function leaveClosed(
  state: RendezvousState,
  situation: Situation,
  self: Participant | undefined,
  clock: Clock,
): Step {
  const { workers, card, wasThere } = situation;
  if (workers.kind === 'running') return stop('closed');
  if (workers.kind === 'stopping') return untilStopped();
  // `comeIn` refuses it with a reason.
  if (!wasThere) return comeIn(state, situation, clock);
  const end = state.verdict!;
  const waits = state.waitList.some(({ id }) => id === card.id);
  if (!self && !waits) return { kind: 'end', end };
  const participants = state.participants.filter((other) => other !== self);
  const waitList = state.waitList.filter(({ id }) => id !== card.id);
  return write(state, { participants, waitList }, clock, undefined, end);
}
