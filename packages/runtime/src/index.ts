/**
 * Distributed training for Node.js: process groups, collectives, DistributedDataParallel, data loading, checkpoints,
 * profiling and reports. Two more entry points run when they are loaded and export nothing: `ringrun/launcher` is the command
 * `ringrun`, and `node --import ringrun/typescript` runs TypeScript as the launcher does.
 *
 * @module ringrun
 */
export {
  BFloat16Bits,
  CollectiveMismatchError,
  CollectiveTimeoutError,
  DeviceTensor,
  Float16Bits,
  HashStore,
  InvalidArgumentError,
  NcclGroup,
  PeerDiedError,
  ReduceOp,
  RingrunError,
  StoreTimeoutError,
  defaultTimeoutMs,
} from '@ringrun/collectives';
export type {
  AllReduceOptions,
  AllToAllOptions,
  BroadcastObjectOptions,
  BroadcastOptions,
  BufferByRank,
  CollectiveBuffer,
  CollectiveOptions,
  DType,
  GatherObjectOptions,
  GatherOptions,
  Links,
  MeasureLinksOptions,
  OperationSide,
  ProcessGroup,
  RankIdentity,
  RecvOptions,
  ReduceOptions,
  ReduceScatterOptions,
  ScatterObjectOptions,
  ScatterOptions,
  SendOptions,
  Store,
  TypedArray,
  Work,
} from '@ringrun/collectives';
export { outputProblem, pathProblem } from '@ringrun/core';
export { installErrorRecord } from '@ringrun/launcher';
export type { ErrorRecord, ErrorRecordOptions } from '@ringrun/launcher';
export type { SourceLocation } from '@ringrun/launcher';
export * from './process-group/index.ts';
export { FileStore, PrefixStore, StoreServer, TCPStore, connectStore } from '@ringrun/rendezvous';
export type {
  ConnectStoreOptions,
  FileStoreOptions,
  HostPort,
  StoreClient,
  TCPStoreOptions,
} from '@ringrun/rendezvous';
export * from './data/index.ts';
export * from './spawn/index.ts';
export * from './storage/index.ts';
export * from './ddp/index.ts';
export * from './local-steps/index.ts';
export * from './checkpoint/index.ts';
export * from './profiler/index.ts';
export * from './report/index.ts';
export * from './tensorboard/index.ts';
