export type { Callback, MetricsByName, TrainedBatch, TrainingContext } from './callback.ts';
export { EarlyStopping, type EarlyStoppingOptions, type EarlyStoppingState } from './early-stopping.ts';
export { ModelCheckpoint, type ModelCheckpointOptions, type SavedModel } from './model-checkpoint.ts';
export type { Mode } from './monitored.ts';
