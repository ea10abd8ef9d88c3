export { classification } from './classification.ts';
export { effectiveBatch, learningRate, type EffectiveBatch } from './effective-batch.ts';
export { imageTask, type Classifier, type ImageTaskParts } from './image-task.ts';
export type { Optimization, TrainingLength } from './optimization.ts';
export * from './options.ts';
export { parseSettings, type Example, type Settings } from './settings.ts';
export { readText } from './read-text.ts';
export { run } from './run.ts';
export type { Rate, Task, TaskData } from './task.ts';
