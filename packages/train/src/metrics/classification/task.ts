import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { MetricOptions } from '../metric.ts';

/** How the values of classes or labels become one. */
export type Average = 'micro' | 'macro' | 'weighted' | 'none';

/** Two classes: scores or labels of one dimension less than those of several classes. */
export interface BinaryTask {
  /** Two classes. */
  task: 'binary';
  /** Probability above which a sample counts as positive. Default: 0.5. */
  threshold?: number;
}

/** One of several classes for each sample. */
export interface MulticlassTask {
  /** Several classes. */
  task: 'multiclass';
  /** Number of classes. */
  numClasses: number;
}

/** Several labels for each sample, each of which is set or not. */
export interface MultilabelTask {
  /** Several labels. */
  task: 'multilabel';
  /** Number of labels. */
  numLabels: number;
  /** Probability above which a label counts as set. Default: 0.5. */
  threshold?: number;
}

/** The kind of classification. */
export type ClassificationTask = BinaryTask | MulticlassTask | MultilabelTask;

/** Options of classification metrics, beside the task. */
export interface ClassificationOptions extends MetricOptions {
  /** Targets with this value are left out. Default: none. */
  ignoreIndex?: number;
}

/** Number of classes or labels whose counts are kept; a binary task has one. */
export function widthOf(task: ClassificationTask): number {
  return task.task === 'binary' ? 1 : task.task === 'multiclass' ? task.numClasses : task.numLabels;
}

const common = { task: true, ignoreIndex: true, processGroup: true } as const;
const ofTask = {
  binary: { ...common, threshold: true },
  multiclass: { ...common, numClasses: true },
  multilabel: { ...common, numLabels: true, threshold: true },
} as const;

/**
 * Checks the options of a classification metric.
 *
 * @param more names of further options
 * @throws InvalidArgumentError for an unknown task or option, or a number out of range
 */
export function requireTask(
  who: string,
  options: ClassificationTask & ClassificationOptions,
  more: Readonly<Record<string, true>>,
): void {
  const task = (options as Partial<ClassificationTask> | undefined)?.task;
  if (task === undefined || !Object.hasOwn(ofTask, task)) {
    throw new InvalidArgumentError(
      `${who}: task: expected 'binary', 'multiclass' or 'multilabel', got ${String(task)}.`,
    );
  }
  requireOptions(who, options, { ...ofTask[task], ...more });
  if (options.task === 'multiclass') requireInteger(options.numClasses, { who, what: 'numClasses', min: 2 });
  if (options.task === 'multilabel') requireInteger(options.numLabels, { who, what: 'numLabels', min: 2 });
  const { ignoreIndex } = options;
  if (ignoreIndex !== undefined)
    requireInteger(ignoreIndex, { who, what: 'ignoreIndex', min: Number.MIN_SAFE_INTEGER });
  const threshold = options.task === 'multiclass' ? 0.5 : (options.threshold ?? 0.5);
  if (!(threshold >= 0 && threshold <= 1))
    throw new InvalidArgumentError(`${who}: threshold: expected a number from 0 to 1, got ${threshold}.`);
}
