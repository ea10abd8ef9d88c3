/**
 * How the processes of a job find each other: the key-value store they share (`store/`), the secret that protects it
 * (`secret/`), and how a group forms again after a death (`recovery/`). Launchers also import `@ringrun/rendezvous/rounds`
 * and `@ringrun/rendezvous/nodes`.
 * Scripts import `ringrun`, which re-exports the stores.
 *
 * @module @ringrun/rendezvous
 */
export { BoundedWait } from './store/bounded-wait.ts';
export { connectStore } from './store/client.ts';
export type { ConnectStoreOptions, StoreClient } from './store/client.ts';
export { deleteNumbered, deletePrefix } from './store/delete-prefix.ts';
export { formatHostPort, isLoopback, parseEndpoint, resolveAddresses } from './store/endpoint.ts';
export type { HostPort } from './store/endpoint.ts';
export { fileLimitWarning } from './store/file-limit.ts';
export { FileStore } from './store/file-store.ts';
export type { FileStoreOptions } from './store/file-store.ts';
export { isHostName } from './store/host-name.ts';
export { missingKeysOf, peek, peekAll } from './store/peek.ts';
export { describePortOwner, findPortOwner } from './store/port-owner.ts';
export type { PortOwner } from './store/port-owner.ts';
export { PrefixStore } from './store/prefix-store.ts';
export { describeReachability, probe } from './store/reachability.ts';
export type { Reachability } from './store/reachability.ts';
export { StoreServer } from './store/server.ts';
export { TCPStore } from './store/tcp-store.ts';
export type { TCPStoreOptions } from './store/tcp-store.ts';
export { serveStoreInThread } from './store/threaded-server.ts';
export type { ThreadedStoreServer } from './store/threaded-server.ts';
export { WaitReporter } from './store/wait-reporter.ts';

export { dataConnectionSecurity, requireSecretToEncrypt } from './secret/encryption.ts';
export {
  createSecret,
  howToSet,
  jobSecret,
  noSecretWarning,
  readSecretFile,
  requireSecret,
} from './secret/job-secret.ts';
export { dashboardToken } from './secret/keys.ts';

export { AbandonableStore } from './recovery/abandonable-store.ts';
export { Agreement } from './recovery/agreement.ts';
export type { Generation } from './recovery/agreement.ts';
export { systemClock } from './clock.ts';
export type { Clock } from './clock.ts';
export type { Formation, Process, Report } from './recovery/decide.ts';
export { FormationAbandonedError, isRecoverable, jobEnded, whileForming } from './recovery/failures.ts';
export { hasEnded, processSpace } from './recovery/process-space.ts';
export {
  firstJob,
  goneKey,
  isJoinable,
  readJob,
  RecoveryKeys,
  removedKey,
} from './recovery/recovery-keys.ts';
export type { Job, JobPhase, JobWithLiving } from './recovery/recovery-keys.ts';
export { SignsOfLife } from './recovery/signs-of-life.ts';
