export type {
  EvaluateOptions,
  EvaluationOptions,
  FitOptions,
  FitResult,
  InputsAndTarget,
  Loader,
  LossValue,
  Models,
  OutputOf,
  Scheduler,
  SchedulerConfig,
  StepContext,
  ValidationResult,
  Wrapped,
} from './fit-options.ts';
export { Trainer } from './trainer.ts';
export type { CheckpointOptions, ReportOptions, TrainerOptions } from './trainer-options.ts';
export type { TrainableModule } from '../trainable-module.ts';
