import { requireChoice } from '@ringrun/core';
import type { Values } from '../input.ts';
import { Metric } from '../metric.ts';
import type { MetricState } from '../state.ts';
import { labelsOf, multiclassOf } from './samples.ts';
import { divided } from './stat-scores.ts';
import { requireTask, widthOf } from './task.ts';
import type { ClassificationOptions, ClassificationTask } from './task.ts';

/** Options of {@link ConfusionMatrix}. */
export type ConfusionMatrixOptions = ClassificationTask &
  ClassificationOptions & {
    /**
     * 'true': divide by the number of samples of a class (rows); 'pred': by the number of predictions of a class (columns);
     * 'all': by the number of all. A row or column without samples becomes 0. Default: 'none', the counts.
     */
    normalize?: 'true' | 'pred' | 'all' | 'none';
  };

/** Values with a shape. */
export interface MetricValues {
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Float64Array;
}

/**
 * Counts of targets (rows) and predictions (columns) (torchmetrics.ConfusionMatrix): [2, 2] for a binary task,
 * [numClasses, numClasses] for a multiclass one, [numLabels, 2, 2] for a multilabel one. Shapes as for {@link Accuracy}.
 */
export class ConfusionMatrix extends Metric<MetricValues> {
  readonly #options: ConfusionMatrixOptions;

  /** @throws InvalidArgumentError for an unknown task or option, or a number out of range */
  constructor(options: ConfusionMatrixOptions) {
    requireTask('ConfusionMatrix', options, { normalize: true });
    requireChoice('ConfusionMatrix', 'normalize', options.normalize ?? 'none', [
      'true',
      'pred',
      'all',
      'none',
    ]);
    super({ sums: shapeOf(options).reduce((product, length) => product * length) }, options);
    this.#options = options;
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const who = 'ConfusionMatrix.update';
    const options = this.#options;
    const sums = new Float64Array(shapeOf(options).reduce((product, length) => product * length));
    if (options.task === 'multiclass') {
      const samples = multiclassOf(who, options, predictions, target);
      for (let position = 0; position < samples.count; position += 1) {
        const row = samples.target(position);
        if (row !== undefined) sums[row * options.numClasses + samples.predicted(position)] += 1;
      }
    } else {
      for (const [index, label] of labelsOf(who, options, predictions, target).entries())
        for (let position = 0; position < label.count; position += 1) {
          const row = label.target(position);
          if (row !== undefined) sums[4 * index + 2 * row + Number(label.isPositive(position))] += 1;
        }
    }
    return { sums, lists: [] };
  }

  protected override valueOf({ sums }: MetricState): MetricValues {
    const shape = shapeOf(this.#options);
    const size = shape.at(-1)!;
    const data = sums.slice();
    for (let start = 0; start < data.length; start += size * size)
      normalized(data.subarray(start, start + size * size), size, this.#options.normalize ?? 'none');
    return { shape, data };
  }
}

function shapeOf(task: ClassificationTask): number[] {
  if (task.task === 'multiclass') return [task.numClasses, task.numClasses];
  return task.task === 'binary' ? [2, 2] : [widthOf(task), 2, 2];
}

/** Divides a square matrix in place. */
function normalized(matrix: Float64Array, size: number, by: 'true' | 'pred' | 'all' | 'none'): void {
  if (by === 'none') return;
  const lineOf = {
    true: (at: number) => Math.floor(at / size),
    pred: (at: number) => at % size,
    all: () => 0,
  }[by];
  const sums = new Float64Array(size);
  for (const [at, value] of matrix.entries()) sums[lineOf(at)] += value;
  for (const [at, value] of matrix.entries()) matrix[at] = divided(value, sums[lineOf(at)]);
}
