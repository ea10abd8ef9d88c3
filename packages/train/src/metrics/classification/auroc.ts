import { InvalidArgumentError, requireChoice, requireInteger } from '@ringrun/core';
import type { Values } from '../input.ts';
import { Metric } from '../metric.ts';
import { joined, type MetricState } from '../state.ts';
import { areaUnder, binnedCurve, exactCurve, type RocCurve } from './roc-curve.ts';
import { labelsOf, multiclassOf, type Multiclass } from './samples.ts';
import { divided } from './stat-scores.ts';
import { requireTask, widthOf } from './task.ts';
import type { Average, ClassificationOptions, ClassificationTask } from './task.ts';

/** Options of {@link AUROC}. */
export type AUROCOptions = ClassificationTask &
  ClassificationOptions & {
    /**
     * Multiclass and multilabel: 'macro': the mean over classes; 'weighted': weighted by the number of their samples; 'none':
     * the value of each class; 'micro' (multilabel only): all labels together. Default: 'macro'.
     */
    average?: Average;
    /**
     * A number of thresholds between 0 and 1, or a list of them: the area is an approximation, and the memory does not grow
     * with the number of samples. Default: exact, with all scores of all ranks on each rank.
     */
    thresholds?: number | readonly number[];
    /** Binary: the partial area up to this false positive rate, above 0 and at most 1. Default: 1. */
    maxFpr?: number;
  };

/** Number, or the value of each class with `average: 'none'`. */
export type AUROCValue<Options> = Options extends Readonly<Record<'average', 'none'>> ? Float64Array : number;

/**
 * The area under the receiver operating characteristic (torchmetrics.AUROC). Predictions are scores: [N, …] (binary),
 * [N, C, …] (multiclass), [N, L, …] (multilabel). Scores outside of [0, 1] are logits: then the sigmoid, or the softmax over
 * the classes, of all of the batch is computed.
 */
export class AUROC<const Options extends AUROCOptions = AUROCOptions> extends Metric<AUROCValue<Options>> {
  readonly #options: AUROCOptions;
  /** Rising; undefined for the exact area. */
  readonly #thresholds: Float32Array | undefined;

  /** @throws InvalidArgumentError for an unknown task or option, or a number out of range */
  constructor(options: Options) {
    requireAuroc(options);
    const thresholds = thresholdsOf(options);
    const width = widthOf(options);
    super(
      thresholds === undefined
        ? { sums: 0, lists: 2 * width }
        : { sums: 2 * width * (thresholds.length + 1) },
      options,
    );
    this.#options = options;
    this.#thresholds = thresholds;
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const classes = scoresByClass(this.#options, predictions, target);
    const thresholds = this.#thresholds;
    if (thresholds === undefined) {
      const lists = classes.flatMap(({ scores, targets }) => [scores, targets]);
      return { sums: new Float64Array(0), lists };
    }
    return { sums: joined(classes.map((one) => histogramOf(one, thresholds))), lists: [] };
  }

  protected override valueOf({ sums, lists }: MetricState): AUROCValue<Options> {
    const width = widthOf(this.#options);
    const classes = Array.from({ length: width }, (_, index) =>
      this.#thresholds === undefined
        ? exact(lists[2 * index], lists[2 * index + 1])
        : binned(sums.slice((index * sums.length) / width, ((index + 1) * sums.length) / width)),
    );
    return this.#averaged(classes) as AUROCValue<Options>;
  }

  #averaged(classes: readonly OfClass[]): number | Float64Array {
    const { task, average = 'macro', maxFpr } = this.#options;
    if (task === 'binary') return areaUnder(classes[0].curve(), maxFpr);
    if (average === 'micro') return areaUnder(classes[0].together(classes).curve());
    const areas = Float64Array.from(classes, ({ curve }) => areaUnder(curve()));
    if (average === 'none') return areas;
    const weights = classes.map(({ positives }) => (average === 'weighted' ? positives : 1));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return areas.reduce((sum, area, index) => sum + area * divided(weights[index], total), 0);
  }
}

/** The scores of a batch for one class, and 1 for its samples, 0 for others. */
interface ClassScores {
  readonly scores: Float64Array;
  readonly targets: Float64Array;
}

/** The scores of all ranks for one class. */
interface OfClass {
  /** Number of its samples. */
  readonly positives: number;
  readonly curve: () => RocCurve;
  /** All classes as one. */
  readonly together: (classes: readonly OfClass[]) => OfClass;
  readonly state: ClassScores | Float64Array;
}

function exact(scores: Float64Array, targets: Float64Array): OfClass {
  return {
    state: { scores, targets },
    positives: targets.reduce((sum, one) => sum + one, 0),
    curve: () => exactCurve(scores, (sample) => targets[sample] === 1),
    together: (classes) => {
      const states = classes.map(({ state }) => state as ClassScores);
      return exact(joined(states.map((one) => one.scores)), joined(states.map((one) => one.targets)));
    },
  };
}

function binned(histogram: Float64Array): OfClass {
  return {
    state: histogram,
    positives: histogram.reduce((sum, count, at) => sum + (at % 2 === 1 ? count : 0), 0),
    curve: () => binnedCurve(histogram),
    together: (classes) => {
      const states = classes.map(({ state }) => state as Float64Array);
      return binned(histogram.map((_, at) => states.reduce((sum, state) => sum + state[at], 0)));
    },
  };
}

function scoresByClass(options: AUROCOptions, predictions: Values, target: Values): ClassScores[] {
  const who = 'AUROC.update';
  if (!predictions.isFloat) {
    throw new InvalidArgumentError(
      `${who}: expected scores in floating-point numbers as predictions, got integers.`,
    );
  }
  if (options.task === 'multiclass') {
    const samples = multiclassOf(who, options, predictions, target);
    if (!samples.hasScores)
      throw new InvalidArgumentError(`${who}: expected scores [N, C, …] for a multiclass task, got classes.`);
    return multiclassScores(samples, options.numClasses, predictions.data);
  }
  return labelsOf(who, options, predictions, target).map((label) => {
    const kept = positionsOf(label);
    return {
      scores: Float64Array.from(kept, (position) => label.probability(position)),
      targets: Float64Array.from(kept, (position) => label.target(position)!),
    };
  });
}

/** Probabilities, or the softmax of logits in the precision of the scores. */
function multiclassScores(samples: Multiclass, numClasses: number, data: ArrayLike<number>): ClassScores[] {
  const kept = positionsOf(samples);
  const indices = Array.from({ length: numClasses }, (_, index) => index);
  const areLogits = kept.some((position) =>
    indices.some((index) => !(samples.score(position, index) >= 0 && samples.score(position, index) <= 1)),
  );
  const round = data instanceof Float32Array ? Math.fround : (value: number) => value;
  const rows = kept.map((position) => {
    const row = indices.map((index) => samples.score(position, index));
    if (!areLogits) return row;
    const highest = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => round(power / sum));
  });
  return indices.map((index) => ({
    scores: Float64Array.from(rows, (row) => row[index]),
    targets: Float64Array.from(kept, (position) => Number(samples.target(position) === index)),
  }));
}

function positionsOf(samples: {
  readonly count: number;
  target(position: number): number | undefined;
}): number[] {
  return Array.from({ length: samples.count }, (_, position) => position).filter(
    (position) => samples.target(position) !== undefined,
  );
}

/** [thresholds + 1, 2]: negatives and positives by the number of thresholds at or below their score. */
function histogramOf({ scores, targets }: ClassScores, thresholds: Float32Array): Float64Array<ArrayBuffer> {
  const histogram = new Float64Array(2 * (thresholds.length + 1));
  for (const [sample, score] of scores.entries()) {
    let [low, high] = [0, thresholds.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (score >= thresholds[middle]) low = middle + 1;
      else high = middle;
    }
    histogram[2 * low + targets[sample]] += 1;
  }
  return histogram;
}

function thresholdsOf({ thresholds }: AUROCOptions): Float32Array | undefined {
  if (thresholds === undefined) return undefined;
  if (typeof thresholds !== 'number') return Float32Array.from(thresholds).sort();
  // The float32 numbers of torch.linspace, which counts from both ends.
  const step = Math.fround(1 / (thresholds - 1));
  const last = thresholds - 1;
  return Float32Array.from({ length: thresholds }, (_, place) =>
    place < thresholds / 2 ? step * place : 1 - Math.fround(step * (last - place)),
  );
}

function requireAuroc(options: AUROCOptions): void {
  const who = 'AUROC';
  const task = (options as Partial<AUROCOptions> | undefined)?.task;
  const more = task === 'binary' ? ({ maxFpr: true } as const) : ({ average: true } as const);
  requireTask(who, options, { thresholds: true, ...more });
  const averages = ['macro', 'weighted', 'none', ...(task === 'multilabel' ? ['micro'] : [])];
  requireChoice(who, 'average', options.average ?? 'macro', averages);
  const { maxFpr = 1, thresholds } = options;
  if (!(maxFpr > 0 && maxFpr <= 1))
    throw new InvalidArgumentError(`${who}: maxFpr: expected a number above 0 and at most 1, got ${maxFpr}.`);
  if (typeof thresholds === 'number') requireInteger(thresholds, { who, what: 'thresholds', min: 2 });
  else if (thresholds?.some((threshold) => !(threshold >= 0 && threshold <= 1)))
    throw new InvalidArgumentError(
      `${who}: thresholds: expected numbers from 0 to 1, got ${thresholds.join(', ')}.`,
    );
}
