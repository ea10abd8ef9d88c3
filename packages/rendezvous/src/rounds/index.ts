/**
 * The rounds of a job, in which nodes join, leave and die. Launchers import it; a rank needs none of it.
 *
 * @module @ringrun/rendezvous/rounds
 */
export { compareKinds, isIndependent } from './failure-kind.ts';
export type { FailureKind } from './failure-kind.ts';
export { JobStore } from './job-store.ts';
export type { JobEvent, JobTerms, NodeInfo, RootCause, Verdict } from './rendezvous-state.ts';
export { describeEvent } from './event-printer.ts';
export { Rendezvous } from './rendezvous.ts';
export type { RendezvousEnd } from './rendezvous-options.ts';
export type { RunningWorkers } from './worker-control.ts';
export { restartBackoffOf } from './restart-backoff.ts';
export type { RestartBackoff } from './restart-backoff.ts';
export { decideRestart } from './restart-policy.ts';
export type { RestartBudget } from './restart-policy.ts';
export { firstRankOf, worldSizeOf } from './round.ts';
export type { Round } from './round.ts';
export { advertisedAddress } from './this-host.ts';
