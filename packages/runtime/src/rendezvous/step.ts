import type { Situation } from './situation.ts';
import { changed } from './state.ts';
import type { Change, EndOfRound, RendezvousState, Verdict } from './state.ts';

/** What a node does next. */
export type Step =
  /** Puts `state` in the place of the one that was read, unless another was faster; then it ends, if `end` says so. */
  | { readonly kind: 'write'; readonly state: RendezvousState; readonly end?: End }
  /** Looks for a port that workers of this host can bind. */
  | { readonly kind: 'find-port' }
  /** Starts the workers of this round. */
  | { readonly kind: 'start' }
  /** Ends its workers, with the time that is left for it. */
  | {
      readonly kind: 'stop';
      readonly cutOff: boolean;
      readonly because: EndOfRound['kind'] | 'lost' | 'closed';
    }
  /** Waits for something to change; `reason` completes the sentence "waiting for …". */
  | { readonly kind: 'wait'; readonly reason: string }
  | { readonly kind: 'end'; readonly end: End };

/** How a node's part in a job ends. */
export type End =
  | Verdict
  | { readonly kind: 'left'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'timed out'; readonly why: string };

/** Readings of this node's own clock, and milliseconds since the epoch for what people read. */
export interface Clock {
  readonly now: number;
  readonly wall: number;
}

/** `what` is told to people, if it is worth it. */
export function write(
  state: RendezvousState,
  change: Change,
  { wall }: Clock,
  what?: string,
  end?: End,
): Step {
  const next = changed(state, change, what === undefined ? [] : [{ at: wall, what }]);
  return end ? { kind: 'write', state: next, end } : { kind: 'write', state: next };
}

export function leave({ leaving }: Situation): Step {
  return { kind: 'end', end: { kind: 'left', why: leaving ?? '' } };
}

export function stop(because: Extract<Step, { kind: 'stop' }>['because'], cutOff = false): Step {
  return { kind: 'stop', because, cutOff };
}

export function untilStopped(): Step {
  return { kind: 'wait', reason: 'the workers of this node to end' };
}
