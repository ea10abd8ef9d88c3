/**
 * What the launchers of all jobs know of rounds: which ranks a node has, and when workers restart.
 *
 * @module @ringrun/rendezvous/rounds
 */
export { compareKinds, isIndependent } from './failure-kind.ts';
export type { FailureKind } from './failure-kind.ts';
export type { JobEvent, RootCause } from './rendezvous-state.ts';
export { restartBackoffOf } from './restart-backoff.ts';
export type { RestartBackoff } from './restart-backoff.ts';
export { decideRestart } from './restart-policy.ts';
export type { RestartBudget } from './restart-policy.ts';
export { firstRankOf, worldSizeOf } from './round.ts';
export type { Round } from './round.ts';
