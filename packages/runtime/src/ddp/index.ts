export { ParametersDivergedError, parametersDigest, verifyIdenticalParameters } from './consistency.ts';
export { DistributedDataParallel, type ParameterOf } from './distributed-data-parallel.ts';
export type {
  Arrival,
  CommHook,
  DistributedBuffer,
  DistributedDataParallelOptions,
  DistributedModule,
  DistributedParameter,
  DistributedTensor,
  ElementRange,
  ForwardModule,
  GradientBucket,
  GradientPass,
  GradientSink,
  ParameterSharing,
  PassEnd,
  StartableOperation,
  SynchronousGradientSink,
} from '@ringrun/core';
export { ModelMismatchError } from './model-agreement.ts';
export * as commHooks from './hooks/index.ts';
export type { PowerSgdOptions, QuantizeOptions } from './hooks/index.ts';
export type { JoinOptions } from './join.ts';
export { UnevenInputsError } from './uneven-inputs.ts';
