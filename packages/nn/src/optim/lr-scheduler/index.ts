export { CosineAnnealingLR, type CosineAnnealingLROptions } from './cosine-annealing-lr.ts';
export {
  CosineAnnealingWarmRestarts,
  type CosineAnnealingWarmRestartsOptions,
} from './cosine-annealing-warm-restarts.ts';
export { ExponentialLR } from './exponential-lr.ts';
export { LambdaLR } from './lambda-lr.ts';
export { LinearLR, type LinearLROptions } from './linear-lr.ts';
export { LRScheduler, type LRSchedulerState, type Point, type Schedule } from './lr-scheduler.ts';
export { MultiStepLR } from './multi-step-lr.ts';
export { OneCycleLR, type OneCycleLROptions } from './one-cycle-lr.ts';
export {
  ReduceLROnPlateau,
  type ReduceLROnPlateauOptions,
  type ReduceLROnPlateauState,
} from './reduce-lr-on-plateau.ts';
export { SequentialLR, type SequentialLRState } from './sequential-lr.ts';
export { StepLR, type StepLROptions } from './step-lr.ts';
