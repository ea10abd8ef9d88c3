import { InvalidArgumentError } from '@ringrun/core';
import { requireSameShape, sizeOf, type Values } from '../input.ts';
import type { BinaryTask, MulticlassTask, MultilabelTask } from './task.ts';

/**
 * Class scores and class indices of a batch, by position: a sample, or a pixel of one. Shapes of torchmetrics: scores
 * [N, C, …] or predicted classes [N, …], targets [N, …].
 */
export interface Multiclass {
  /** Number of positions. */
  readonly count: number;
  /** The target at a position; undefined if it is ignored. */
  target(position: number): number | undefined;
  /** True if there are scores, false if the predictions are classes. */
  readonly hasScores: boolean;
  /** The score of a class at a position. */
  score(position: number, index: number): number;
  /** The predicted class at a position: that of the highest score. */
  predicted(position: number): number;
}

/** @throws InvalidArgumentError for shapes that do not fit, and classes out of range */
export function multiclassOf(
  who: string,
  { numClasses, ignoreIndex }: MulticlassTask & { ignoreIndex?: number },
  predictions: Values,
  target: Values,
): Multiclass {
  const hasScores = predictions.shape.length === target.shape.length + 1;
  requireMulticlassShapes(who, numClasses, predictions, target, hasScores);
  const inner = sizeOf(target.shape.slice(1));
  const { data } = predictions;
  const isIgnored = (value: number) => value === ignoreIndex;
  requireClasses(`${who}: target`, target.data, numClasses, isIgnored);
  const isUnused = (_: number, at: number) => isIgnored(target.data[at]);
  if (!hasScores) requireClasses(`${who}: predictions`, data, numClasses, isUnused);
  const score = (position: number, index: number) => {
    const sample = Math.floor(position / inner);
    return data[(sample * numClasses + index) * inner + (position - sample * inner)];
  };
  const best = (position: number) => {
    let highest = 0;
    for (let index = 1; index < numClasses; index += 1)
      if (isHigher(score(position, index), score(position, highest))) highest = index;
    return highest;
  };
  return {
    count: target.data.length,
    target: (position) => (isIgnored(target.data[position]) ? undefined : target.data[position]),
    hasScores,
    score,
    predicted: hasScores ? best : (position) => data[position],
  };
}

/** NaN is the highest score, as in torch.argmax. */
export function isHigher(score: number, other: number): boolean {
  return score > other || (Number.isNaN(score) && !Number.isNaN(other));
}

/** Scores and targets (0 or 1) of one label or of the positive class. */
export interface OneLabel {
  /** Number of samples. */
  readonly count: number;
  /** 0 or 1; undefined if it is ignored. */
  target(position: number): number | undefined;
  /** A probability; the label itself if the predictions are labels. */
  probability(position: number): number;
  /** Whether a sample is predicted to be positive. */
  isPositive(position: number): boolean;
}

/**
 * The labels of a batch: of a binary task one, for shapes [N, …]; of a multilabel task `numLabels`, for shapes [N, L, …].
 * Floating-point predictions outside of [0, 1] are logits: then the sigmoid of all of the batch is computed.
 *
 * @throws InvalidArgumentError for shapes that differ, and targets other than 0, 1 and `ignoreIndex`
 */
export function labelsOf(
  who: string,
  task: (BinaryTask | MultilabelTask) & { ignoreIndex?: number },
  predictions: Values,
  target: Values,
): OneLabel[] {
  requireSameShape(who, predictions, target);
  const { ignoreIndex, threshold = 0.5 } = task;
  const { shape } = target;
  const labels = task.task === 'binary' ? 1 : task.numLabels;
  if (task.task === 'multilabel' && shape[1] !== labels) {
    throw new InvalidArgumentError(
      `${who}: expected shape [N, ${labels}, …] for numLabels: ${labels}, got [${shape.join(', ')}].`,
    );
  }
  const isIgnored = (value: number) => value === ignoreIndex;
  requireClasses(`${who}: target`, target.data, 2, isIgnored);
  const isUnused = (_: number, at: number) => isIgnored(target.data[at]);
  if (!predictions.isFloat) requireClasses(`${who}: predictions`, predictions.data, 2, isUnused);
  const probabilities = predictions.isFloat ? sigmoidIfNeeded(predictions.data) : predictions.data;
  // A float32 tensor is compared with the threshold in float32.
  const limit = predictions.data instanceof Float32Array ? Math.fround(threshold) : threshold;
  const isSet = predictions.isFloat
    ? (at: number) => probabilities[at] > limit
    : (at: number) => probabilities[at] === 1;
  const inner = task.task === 'binary' ? 1 : sizeOf(shape.slice(2));
  const count = target.data.length / labels;
  return Array.from({ length: labels }, (_, label) => {
    const at = (position: number) => {
      const sample = Math.floor(position / inner);
      return (sample * labels + label) * inner + (position - sample * inner);
    };
    return {
      count,
      target: (position) => {
        const value = target.data[at(position)];
        return isIgnored(value) ? undefined : value;
      },
      probability: (position) => probabilities[at(position)],
      isPositive: (position) => isSet(at(position)),
    };
  });
}

/** The sigmoid of logits; probabilities as they are. float32 in, float32 out, as in torch. */
function sigmoidIfNeeded(data: ArrayLike<number>): ArrayLike<number> {
  let areProbabilities = true;
  for (let at = 0; at < data.length; at += 1) areProbabilities &&= data[at] >= 0 && data[at] <= 1;
  if (areProbabilities) return data;
  const result = data instanceof Float32Array ? new Float32Array(data.length) : new Float64Array(data.length);
  for (let at = 0; at < data.length; at += 1) result[at] = 1 / (1 + Math.exp(-data[at]));
  return result;
}

function requireMulticlassShapes(
  who: string,
  numClasses: number,
  predictions: Values,
  target: Values,
  hasScores: boolean,
): void {
  const [given, expected] = [predictions.shape, target.shape];
  if (hasScores) {
    const [n, classes, ...rest] = given;
    if (classes !== numClasses) {
      throw new InvalidArgumentError(
        `${who}: expected scores [N, ${numClasses}, …] for numClasses: ${numClasses}, got [${given.join(', ')}].`,
      );
    }
    if ([n, ...rest].join() === expected.join()) return;
    throw new InvalidArgumentError(
      `${who}: expected targets [${[n, ...rest].join(', ')}] for scores [${given.join(', ')}], got [${expected.join(', ')}].`,
    );
  }
  if (given.length !== expected.length) {
    throw new InvalidArgumentError(
      `${who}: expected scores [N, C, …] or classes [N, …] for targets [N, …], got [${given.join(', ')}] and [${expected.join(', ')}].`,
    );
  }
  requireSameShape(who, predictions, target);
  if (predictions.isFloat) {
    throw new InvalidArgumentError(
      `${who}: expected integers as predicted classes [${given.join(', ')}], got floating-point numbers. Pass scores [N, C, …], or argmax of them.`,
    );
  }
}

/** @throws InvalidArgumentError for a value that is neither a class nor left out */
export function requireClasses(
  what: string,
  data: ArrayLike<number>,
  numClasses: number,
  isLeftOut: (value: number, at: number) => boolean,
): void {
  for (let at = 0; at < data.length; at += 1) {
    const value = data[at];
    if ((Number.isInteger(value) && value >= 0 && value < numClasses) || isLeftOut(value, at)) continue;
    throw new InvalidArgumentError(
      `${what}: expected integers from 0 to ${numClasses - 1}, got ${value} at index ${at}.`,
    );
  }
}
