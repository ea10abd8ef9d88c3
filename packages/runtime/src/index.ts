export {
  BFloat16Bits,
  CollectiveMismatchError,
  CollectiveTimeoutError,
  Float16Bits,
  InvalidArgumentError,
  PeerDiedError,
  ReduceOp,
  RingrunError,
  StoreTimeoutError,
  defaultTimeoutMs,
} from '@ringrun/collectives';
export type {
  AllReduceOptions,
  BroadcastOptions,
  CollectiveOptions,
  DType,
  ProcessGroup,
  RankIdentity,
  Store,
  TypedArray,
} from '@ringrun/collectives';
export { installErrorRecord } from './errors/error-record.ts';
export type { ErrorRecord } from './errors/error-record.ts';
export * from './process-group/index.ts';
export { PrefixStore, StoreServer, connectStore } from './rendezvous/index.ts';
export type { ConnectStoreOptions, StoreClient } from './rendezvous/index.ts';
export * from './data/index.ts';
export * from './ddp/index.ts';
