/**
 * The process groups behind `ringrun`, over shared memory, TCP and NCCL. Training scripts import from `ringrun`, which
 * re-exports the public names.
 *
 * @module @ringrun/collectives
 */
export {
  BFloat16Bits,
  bytesPerElement,
  collectiveNames,
  collectives,
  CollectiveMismatchError,
  CollectiveTimeoutError,
  defaultTimeoutMs,
  DeviceTensor,
  dtypeOf,
  Float16Bits,
  InvalidArgumentError,
  messageOptions,
  PeerDiedError,
  ReduceOp,
  reduceOpsFor,
  requireOptions,
  RingrunError,
  StoreTimeoutError,
  timeoutOption,
  typedArrayClass,
} from '@ringrun/core';
export type {
  AllReduceOptions,
  AllToAllOptions,
  BroadcastObjectOptions,
  BroadcastOptions,
  BufferByRank,
  CollectiveBuffer,
  CollectiveOptions,
  CollectiveName,
  Collectives,
  DestinationOption,
  DType,
  DType16,
  GatherObjectOptions,
  GatherOptions,
  Links,
  OptionNames,
  OperationSide,
  ProcessGroup,
  RankIdentity,
  RecvOptions,
  ReduceOpOption,
  ReduceOptions,
  ReduceScatterOptions,
  ScatterObjectOptions,
  ScatterOptions,
  SendOptions,
  SourceOption,
  Store,
  TagOption,
  TypedArray,
  TypedArrayOf,
  Work,
} from '@ringrun/core';
export { allReduceQuantized, allReduceQuantizedSync } from './all-reduce-quantized.ts';
export { measureClock, onClockOfRank0, type ClockOffset } from './clock.ts';
export { narrowFloat32, widenToFloat32 } from './conversions.ts';
export * from './cost/index.ts';
export * from './cpu/index.ts';
export * from './hash-store.ts';
export * from './links/index.ts';
export {
  beginNewGroup,
  followsMeasuredLinks,
  groupHosts,
  groupLinks,
  hasFailed,
  measureGroupLinks,
  prepareAllReduce,
  prepareBarrier,
  shareMemorySync,
  slicesOfRanks,
  whenDestroyed,
} from './native-group/group-internals.ts';
export type { LeavesGroup } from './native-group/destroy-listeners.ts';
export type { HostMemory } from './native-group/native-group.ts';
export type { QuantizedAllReduceOptions } from './native-group/quantized.ts';
export * from './nccl/index.ts';
export { QuantizationError } from './quantization-error.ts';
export type { QuantizationErrorState } from './quantization-error.ts';
