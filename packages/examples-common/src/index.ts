export { effectiveBatch, learningRate, type EffectiveBatch } from './effective-batch.ts';
export { integerFrom, outputFile, outputFolder, textLocation } from './options.ts';
export { parseSettings, type Example, type Settings } from './settings.ts';
export { bf16Help, precisionOf } from './mixed-precision.ts';
export { readText } from './read-text.ts';
export { run } from './run.ts';
export { sideBySide } from './compare.ts';
export type { Classifier, Task } from './task.ts';
export type { Outcome } from './train.ts';
