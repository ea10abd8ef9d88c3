import type { NodeState } from './node-state.ts';
import { changed } from './rendezvous-state.ts';
import type { Change, EndReason, NodeEnd, RendezvousState } from './rendezvous-state.ts';

/** The next action of a node. */
export type Step =
  /**
   * Replaces the state, and ends the node if `end` is set. A node with only a part of the state asks the node that serves the
   * store to do so, which decides by the whole state.
   */
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

/** @param describe Returns the reason, which only the node itself reports: the leader takes the steps of all others. */
export function waitFor(describe: () => string): Step {
  return {
    kind: 'wait',
    get reason() {
      return describe();
    },
  };
}

export function waitUntilStopped(): Step {
  return { kind: 'wait', reason: 'the workers of this node to end' };
}

/** Why the workers are stopped before the lease expires, for the user. */
export function describeCut({ because }: Extract<Step, { kind: 'stop' }>): string {
  if (because === 'lost') return 'the store was lost: stopping the workers until the nodes have joined again';
  return 'the store does not answer: stopping the workers before their ranks are assigned to other nodes';
}
