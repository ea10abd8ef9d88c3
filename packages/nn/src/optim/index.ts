export { Adadelta, type AdadeltaOptions, type AdadeltaSettings } from './adadelta.ts';
export { Adam, AdamW, type AdamOptions, type AdamSettings } from './adam.ts';
export type { ClippingOptions, ClipToNorm } from './clipping.ts';
export * as lrScheduler from './lr-scheduler/index.ts';
export { Optimizer, type CommonSettings } from './optimizer.ts';
export type { OptimizerParameters, ParamGroup, ParamGroupOptions } from './param-groups.ts';
export { RMSprop, type RMSpropOptions, type RMSpropSettings } from './rmsprop.ts';
export { SGD, type SGDOptions, type SGDSettings } from './sgd.ts';
export type { OptimizerStateDict, ParameterStateDict, StoredGroup } from './state-dict.ts';
