import { registerForLibraries } from './registry.ts';
import { installUnaveragedGradientWarning } from './unaveraged-gradients.ts';

export { ParametersDivergedError, parametersDigest, verifyIdenticalParameters } from './consistency.ts';
export { DistributedDataParallel, type ForwardModule } from './distributed-data-parallel.ts';
export type {
  Arrival,
  DistributedBuffer,
  DistributedModule,
  DistributedParameter,
  DistributedTensor,
  GradientSink,
  SynchronousGradientSink,
  UnaveragedGradientObserver,
} from './distributed-module.ts';
export { ModelMismatchError } from './model-agreement.ts';
export * as commHooks from './hooks/index.ts';
export type { CommHook, GradientBucket, PowerSgdOptions } from './hooks/index.ts';
export type { JoinOptions } from './join.ts';
export type { DistributedDataParallelOptions } from './options.ts';
export type { DistributedDataParallelRegistry } from './registry.ts';
export { UnevenInputsError } from './uneven-inputs.ts';

registerForLibraries();
installUnaveragedGradientWarning();
