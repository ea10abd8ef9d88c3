import { compareKinds } from './failure-kind.ts';
import type { RootCause } from './rendezvous-state.ts';

/**
 * The cause that explains the round: a preemption, or else the failure of the kind that explains the other one, or else
 * the failure that ended the round.
 *
 * @param known The one in the state.
 * @param own The one of this node.
 * @param detectedFirst Whether this node ended the round.
 */
export function firstCause(
  known: RootCause | undefined,
  own: RootCause | undefined,
  detectedFirst: boolean,
): RootCause | undefined {
  if (!known || !own) return known ?? own;
  if (known.isPreemption || own.isPreemption) return known.isPreemption ? known : own;
  const order = compareKinds(known.kind, own.kind);
  if (order !== 0) return order < 0 ? known : own;
  return detectedFirst ? own : known;
}
