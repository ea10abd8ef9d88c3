import { InvalidArgumentError, requireChoice, requireInteger } from '@ringrun/core';
import type { Values } from '../input.ts';
import { Metric } from '../metric.ts';
import type { MetricState } from '../state.ts';
import { isHigher, labelsOf, multiclassOf, type Multiclass } from './samples.ts';
import { requireTask, widthOf } from './task.ts';
import type { Average, ClassificationOptions, ClassificationTask } from './task.ts';

/** Options of metrics that count true and false positives and negatives. */
export type StatScoresOptions = ClassificationTask &
  ClassificationOptions & {
    /**
     * Multiclass and multilabel: 'micro': all classes together; 'macro': the mean over classes; 'weighted': weighted by the
     * number of their samples; 'none': the value of each class. Default: 'micro'.
     */
    average?: Average;
    /** Multiclass, with scores: a target among the highest `topK` scores is found. Default: 1. */
    topK?: number;
  };

/** Number, or the value of each class with `average: 'none'`. */
export type Averaged<Options> = Options extends Readonly<Record<'average', 'none'>> ? Float64Array : number;

/** Counts of one class or label. */
export interface Counts {
  /** True positives. */
  readonly tp: number;
  /** False positives. */
  readonly fp: number;
  /** True negatives. */
  readonly tn: number;
  /** False negatives. */
  readonly fn: number;
}

/** A metric of true and false positives and negatives, by class or label (torchmetrics: `_AbstractStatScores`). */
export abstract class StatScoresMetric<Options extends StatScoresOptions> extends Metric<Averaged<Options>> {
  /** The options of the constructor. */
  protected readonly options: StatScoresOptions;

  /**
   * @param options the task and its settings
   * @param more names of further options
   * @throws InvalidArgumentError for an unknown task or option, or a number out of range
   */
  constructor(options: Options, more: Readonly<Record<string, true>> = {}) {
    super({ sums: 4 * checkedWidth(new.target.name, options, more) }, options);
    this.options = options;
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const who = `${this.constructor.name}.update`;
    const { options } = this;
    if (options.task === 'multiclass') {
      const samples = multiclassOf(who, options, predictions, target);
      return { sums: multiclassCounts(who, samples, options.numClasses, options.topK ?? 1), lists: [] };
    }
    const sums = new Float64Array(4 * widthOf(options));
    for (const [index, label] of labelsOf(who, options, predictions, target).entries()) {
      for (let position = 0; position < label.count; position += 1) {
        const expected = label.target(position);
        if (expected === undefined) continue;
        sums[4 * index + kinds[Number(label.isPositive(position))][expected]] += 1;
      }
    }
    return { sums, lists: [] };
  }

  protected override valueOf({ sums }: MetricState): Averaged<Options> {
    const counts = Array.from({ length: sums.length / 4 }, (_, index) => {
      const [tp, fp, tn, fn] = sums.subarray(4 * index, 4 * index + 4);
      return { tp, fp, tn, fn };
    });
    return this.averaged(counts) as Averaged<Options>;
  }

  /** The value of one class, or of all together. */
  protected abstract score(counts: Counts): number;

  /** Whether a class that is only predicted counts in `average: 'macro'`; with `topK` above 1 it does not. */
  protected get countsPredicted(): boolean {
    return (this.options.topK ?? 1) === 1;
  }

  private averaged(counts: readonly Counts[]): number | Float64Array {
    const { task, average = 'micro' } = this.options;
    if (task === 'binary') return this.score(counts[0]);
    if (average === 'micro') return this.score(summed(counts));
    const scores = Float64Array.from(counts, (one) => this.score(one));
    if (average === 'none') return scores;
    const weights = counts.map(({ tp, fp, fn }) => {
      if (average === 'weighted') return tp + fn;
      // Classes that do not occur do not count in the mean.
      const occurs = task === 'multilabel' || tp + fn + (this.countsPredicted ? fp : 0) > 0;
      return Number(occurs);
    });
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return scores.reduce((sum, score, index) => sum + divided(weights[index] * score, total), 0);
  }
}

/** Place of a count, by whether the sample is predicted to be positive and by its target. */
const kinds = [
  [2, 3],
  [1, 0],
] as const;

/** `numerator / denominator`, or `zeroDivision` if the denominator is 0. */
export function divided(numerator: number, denominator: number, zeroDivision = 0): number {
  return denominator === 0 ? zeroDivision : numerator / denominator;
}

function summed(counts: readonly Counts[]): Counts {
  const sum = (name: keyof Counts) => counts.reduce((total, one) => total + one[name], 0);
  return { tp: sum('tp'), fp: sum('fp'), tn: sum('tn'), fn: sum('fn') };
}

/** [tp, fp, tn, fn] of each class. */
function multiclassCounts(
  who: string,
  samples: Multiclass,
  numClasses: number,
  topK: number,
): Float64Array<ArrayBuffer> {
  if (topK > 1 && !samples.hasScores) {
    throw new InvalidArgumentError(`${who}: expected scores [N, C, …] for topK: ${topK}, got classes.`);
  }
  const sums = new Float64Array(4 * numClasses);
  let counted = 0;
  for (let position = 0; position < samples.count; position += 1) {
    const target = samples.target(position);
    if (target === undefined) continue;
    counted += 1;
    const isFound = topK > 1 && isAmongHighest(samples, position, { target, numClasses, topK });
    const predicted = isFound ? target : samples.predicted(position);
    if (predicted === target) sums[4 * target] += 1;
    else {
      sums[4 * predicted + 1] += 1;
      sums[4 * target + 3] += 1;
    }
  }
  for (let index = 0; index < sums.length; index += 4)
    sums[index + 2] = counted - sums[index] - sums[index + 1] - sums[index + 3];
  return sums;
}

/** Whether the score of the target is one of the highest; of equal scores, that of the lower class is higher. */
function isAmongHighest(
  samples: Multiclass,
  position: number,
  { target, numClasses, topK }: { target: number; numClasses: number; topK: number },
): boolean {
  const own = samples.score(position, target);
  let above = 0;
  for (let index = 0; index < numClasses; index += 1) {
    const other = samples.score(position, index);
    if (isHigher(other, own) || (index < target && !isHigher(own, other))) above += 1;
  }
  return above < topK;
}

function checkedWidth(who: string, options: StatScoresOptions, more: Readonly<Record<string, true>>): number {
  const task = (options as Partial<StatScoresOptions> | undefined)?.task;
  const names = {
    ...(task !== 'binary' && ({ average: true } as const)),
    ...(task === 'multiclass' && ({ topK: true } as const)),
  };
  requireTask(who, options, { ...names, ...more });
  requireChoice(who, 'average', options.average ?? 'micro', ['micro', 'macro', 'weighted', 'none']);
  if (options.task === 'multiclass')
    requireInteger(options.topK ?? 1, { who, what: 'topK', min: 1, max: options.numClasses });
  return widthOf(options);
}
