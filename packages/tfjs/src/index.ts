/**
 * Data-parallel training of TensorFlow.js models.
 *
 * @module @ringrun/tfjs
 */
import { prepareProcess } from './process/prepare.ts';

export { broadcastOptimizer, broadcastVariables } from './broadcast.ts';
export type { AnyStatefulOptimizer, BroadcastOptions, NamedWeight } from './broadcast.ts';
export { averageMetrics } from './callbacks/average-metrics.ts';
export type { FitCallback, Logs } from './callbacks/callback.ts';
export { learningRateScaling, type LearningRateScalingOptions } from './callbacks/learning-rate-scaling.ts';
export { modelCheckpoint } from './callbacks/model-checkpoint.ts';
export type { ModelCheckpointOptions, SavableModel } from './callbacks/model-checkpoint.ts';
export { sampledBatches } from './data/sampled-batches.ts';
export type { SampledBatchesOptions, SampleTensors } from './data/sampled-batches.ts';
export { shard, type AnyDataset, type ShardOptions } from './data/shard.ts';
export { distribute, unusedVariables } from './distribute.ts';
export { TfjsError } from './errors.ts';
export { folder } from './folder.ts';
export type {
  LoadedArtifacts,
  ModelArtifacts,
  ModelArtifactsInfo,
  ModelFile,
  ModelFolder,
  ModelStorage,
  SaveResult,
  WeightSpec,
} from './folder.ts';
export type { DistributeOptions } from './options.ts';
export type { AnyLayerVariable, AnyModel, AnyOptimizer } from './tensorflow.ts';
export { moduleOf } from './variables.ts';

prepareProcess();
