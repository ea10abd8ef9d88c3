/**
 * The rounds of a job in which nodes join, leave and die. Launchers of several nodes import it. It is an entry of its own
 * because others would load it for nothing, in a tenth of their start.
 *
 * @module @ringrun/rendezvous/nodes
 */
export { JobStore } from './job-store.ts';
export type { JobTerms, NodeInfo, Verdict } from './rendezvous-state.ts';
export { describeEvent } from './event-printer.ts';
export { Rendezvous } from './rendezvous.ts';
export type { RendezvousEnd } from './rendezvous-options.ts';
export type { RunningWorkers } from './worker-control.ts';
export { advertisedAddress } from './this-host.ts';
