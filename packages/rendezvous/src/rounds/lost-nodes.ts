import { leaseLength } from './node-state.ts';
import type { NodeState, Timing } from './node-state.ts';
import { nameOf } from './rendezvous-state.ts';
import type { JobTerms, RendezvousState, RootCause } from './rendezvous-state.ts';
import type { Clock, Step } from './step.ts';

/**
 * Whether a job waits for new nodes after some have died or left. With the static rendezvous and without restarts,
 * waiting for a node with the same rank would only delay the report.
 */
export function canReplaceNodes({ backend, maxRestarts }: JobTerms): boolean {
  return backend === 'c10d' || maxRestarts > 0;
}

export function describeDeath(timing: Timing): string {
  return `died: no heartbeat for ${leaseLength(timing) / 1000} s, its launcher stopped renewing the lease`;
}

/** The root cause of a job that cannot continue without a node. `what` names the node. */
export function lossOfNode(what: string): RootCause {
  return {
    kind: 'own',
    exitCode: 1,
    headline: what,
    text: `ringrun: root cause: ${what}\n`,
    startUpFingerprint: undefined,
  };
}

/**
 * Ends this node if the store has not answered for a lease and nothing can replace the node that serves it: the
 * mirror image of `removeDeadNodes`, for the nodes on the other side.
 *
 * @param last The state that this node read last.
 */
export function endWithoutStore(
  last: RendezvousState | undefined,
  { node, workers, lease, unansweredSince, leaving }: NodeState,
  { now }: Clock,
): Step | undefined {
  if (!last || canReplaceNodes(last.terms) || leaving !== undefined) return undefined;
  const isRunning = last.phase === 'running' || last.phase === 'ending';
  const takesPart = last.participants.some((other) => other.node.id === node.id);
  const server = last.participants.find((other) => other.node.hostsStore)?.node;
  if (!isRunning || !takesPart || !server || server.id === node.id) return undefined;
  if (workers.kind === 'running' || workers.kind === 'stopping') return undefined;
  if (now - unansweredSince < lease.lengthMs) return undefined;
  const seconds = lease.lengthMs / 1000;
  const what =
    `${nameOf(server)}, which serves the store, has not answered for ${seconds} s: ` +
    `its launcher has ended or is stopped, or the network between ${server.host} and ${node.host} is cut`;
  const reason = `${what}; --max-restarts is 0`;
  return { kind: 'end', end: { kind: 'failed', reason, rootCause: lossOfNode(what) } };
}
