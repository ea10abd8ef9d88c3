import type { NodeState } from './node-state.ts';
import { changed } from './rendezvous-state.ts';
import type { Change, EndReason, RendezvousState, Verdict } from './rendezvous-state.ts';

/** The next action of a node. */
export type Step =
  /** Replaces the state that was read, unless another node has changed it. Then the node ends if `end` is set. */
  | { readonly kind: 'write'; readonly state: RendezvousState; readonly end?: NodeEnd }
  /** Finds a port that workers on this host can bind. */
  | { readonly kind: 'find-port' }
  /** Starts the workers of this round. */
  | { readonly kind: 'start' }
  /** Stops its workers; if `cutOff`, before the lease expires. */
  | {
      readonly kind: 'stop';
      readonly cutOff: boolean;
      readonly because: EndReason['kind'] | 'lost' | 'closed';
    }
  /** Waits for a change; `reason` completes the sentence "waiting for …". */
  | { readonly kind: 'wait'; readonly reason: string }
  | { readonly kind: 'end'; readonly end: NodeEnd };

/** How a node's part in a job ends. */
export type NodeEnd =
  | Verdict
  | { readonly kind: 'left'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'timed out'; readonly why: string };

/** `now`: monotonic clock of this node. `wall`: milliseconds since the epoch, for messages. */
export interface Clock {
  readonly now: number;
  readonly wall: number;
}

/** @param what Event for the job's log; undefined for none. */
export function write(
  state: RendezvousState,
  change: Change,
  { wall }: Clock,
  what?: string,
  end?: NodeEnd,
): Step {
  const next = changed(state, change, what === undefined ? [] : [{ at: wall, what }]);
  return end ? { kind: 'write', state: next, end } : { kind: 'write', state: next };
}

export function leave({ leaving }: NodeState): Step {
  return { kind: 'end', end: { kind: 'left', why: leaving ?? '' } };
}

export function stop(because: Extract<Step, { kind: 'stop' }>['because'], cutOff = false): Step {
  return { kind: 'stop', because, cutOff };
}

export function waitUntilStopped(): Step {
  return { kind: 'wait', reason: 'the workers of this node to end' };
}
