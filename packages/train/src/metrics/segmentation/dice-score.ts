import { InvalidArgumentError, requireChoice, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { isHigher, requireClasses } from '../classification/samples.ts';
import type { Average } from '../classification/task.ts';
import { sizeOf, type Values } from '../input.ts';
import { Metric } from '../metric.ts';
import type { MetricOptions } from '../metric.ts';
import type { MetricState } from '../state.ts';

/** Options of {@link DiceScore}. */
export interface DiceScoreOptions extends MetricOptions {
  /** Number of classes, at least 2. */
  numClasses: number;
  /** Whether class 0 counts. Default: true. */
  includeBackground?: boolean;
  /**
   * 'micro': all classes together; 'macro': the mean over classes that occur or are predicted; 'weighted': weighted by the
   * number of their pixels; 'none': the value of each class. Default: 'macro'.
   */
  average?: Average;
  /** 'samplewise': the mean of the scores of samples; 'global': of the pixels of all samples. Default: 'samplewise'. */
  aggregationLevel?: 'samplewise' | 'global';
  /**
   * 'one-hot': predictions and targets [N, C, …]; 'index': classes [N, …]; 'mixed': one of each. Floating-point numbers
   * [N, C, …] are scores, of which the highest counts. Default: 'one-hot'.
   */
  inputFormat?: 'one-hot' | 'index' | 'mixed';
}

const optionNames: OptionNames<DiceScoreOptions> = {
  numClasses: true,
  includeBackground: true,
  average: true,
  aggregationLevel: true,
  inputFormat: true,
  processGroup: true,
};

/** Sums of each class: twice the intersection, pixels of both, and pixels of the target. */
interface ClassSums {
  numerators: Float64Array;
  denominators: Float64Array;
  supports: Float64Array;
}

/**
 * The Dice score of a segmentation, 2·|P ∩ T| / (|P| + |T|) (torchmetrics.segmentation.DiceScore). A class that neither occurs
 * nor is predicted is NaN with `average: 'none'`, and does not count otherwise.
 */
export class DiceScore extends Metric<number | Float64Array> {
  readonly #options: Required<Omit<DiceScoreOptions, 'processGroup'>>;

  /** @throws InvalidArgumentError for an unknown option, or a number out of range */
  constructor(options: DiceScoreOptions) {
    const who = 'DiceScore';
    requireOptions(who, options, optionNames);
    const { numClasses, includeBackground = true, average = 'macro' } = options;
    const { aggregationLevel = 'samplewise', inputFormat = 'one-hot' } = options;
    requireInteger(numClasses, { who, what: 'numClasses', min: 2 });
    requireChoice(who, 'average', average, ['micro', 'macro', 'weighted', 'none']);
    requireChoice(who, 'aggregationLevel', aggregationLevel, ['samplewise', 'global']);
    requireChoice(who, 'inputFormat', inputFormat, ['one-hot', 'index', 'mixed']);
    const values = average === 'none' ? numClasses - (includeBackground ? 0 : 1) : 1;
    super({ sums: aggregationLevel === 'global' ? 3 * numClasses : 2 * values }, options);
    this.#options = { numClasses, includeBackground, average, aggregationLevel, inputFormat };
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const { numClasses, aggregationLevel } = this.#options;
    const [predicted, expected] = this.#membersOf(predictions, target);
    const samples = predictions.shape[0];
    const isGlobal = aggregationLevel === 'global';
    const sums = new Float64Array(this.state().sums.length);
    for (let sample = 0; sample < samples; sample += 1) {
      const own = sumsOf(predicted, expected, sample, numClasses);
      if (isGlobal) {
        for (const [at, value] of [...own.numerators, ...own.denominators, ...own.supports].entries())
          sums[at] += value;
      } else {
        // The sum of the scores, and their number without NaN.
        for (const [at, score] of this.#scoresOf(own).entries()) {
          if (Number.isNaN(score)) continue;
          sums[2 * at] += score;
          sums[2 * at + 1] += 1;
        }
      }
    }
    return { sums, lists: [] };
  }

  protected override valueOf({ sums }: MetricState): number | Float64Array {
    const { numClasses, aggregationLevel, average } = this.#options;
    const part = (index: number) => sums.slice(index * numClasses, (index + 1) * numClasses);
    const scores =
      aggregationLevel === 'global'
        ? this.#scoresOf({ numerators: part(0), denominators: part(1), supports: part(2) })
        : Float64Array.from({ length: sums.length / 2 }, (_, at) => sums[2 * at] / sums[2 * at + 1]);
    return average === 'none' ? scores : scores[0];
  }

  /** One score, or one for each class. */
  #scoresOf({ numerators, denominators, supports }: ClassSums): Float64Array {
    const { average, includeBackground } = this.#options;
    const first = includeBackground ? 0 : 1;
    const [tops, bottoms, pixels] = [numerators, denominators, supports].map((all) => all.subarray(first));
    const total = (numbers: Float64Array) => numbers.reduce((sum, one) => sum + one, 0);
    // 0 / 0 is NaN, as in torchmetrics.
    if (average === 'micro') return Float64Array.of(total(tops) / total(bottoms));
    const scores = tops.map((top, index) => top / bottoms[index]);
    if (average === 'none') return scores;
    const known = scores.filter((score) => !Number.isNaN(score));
    if (average === 'macro' || known.length === 0) return Float64Array.of(total(known) / known.length);
    const weighted = scores.map((score, index) => (score * pixels[index]) / total(pixels));
    return Float64Array.of(total(weighted.filter((score) => !Number.isNaN(score))));
  }

  #membersOf(predictions: Values, target: Values): readonly [Members, Members] {
    const who = 'DiceScore.update';
    const { inputFormat, numClasses } = this.#options;
    const ranks = [predictions.shape.length, target.shape.length];
    const isHot = ranks.map((rank) =>
      inputFormat === 'mixed' ? rank === Math.max(...ranks) : inputFormat === 'one-hot',
    );
    const fits = inputFormat === 'mixed' ? Math.abs(ranks[0] - ranks[1]) === 1 : ranks[0] === ranks[1];
    const inner = [predictions, target].map(({ shape }, index) => [
      shape[0],
      ...shape.slice(isHot[index] ? 2 : 1),
    ]);
    const classes = [predictions, target].every(
      ({ shape }, index) => !isHot[index] || shape[1] === numClasses,
    );
    if (!fits || !classes || inner[0].join() !== inner[1].join() || inner[0].length < 2)
      throw new InvalidArgumentError(
        `${who}: expected predictions and targets of format '${inputFormat}' with ${numClasses} classes, such as [N, ${numClasses}, H, W] or [N, H, W], ` +
          `got [${predictions.shape.join(', ')}] and [${target.shape.join(', ')}].`,
      );
    if (!isHot[0]) requireClasses(`${who}: predictions`, predictions.data, numClasses, () => false);
    if (!isHot[1]) requireClasses(`${who}: target`, target.data, numClasses, () => false);
    const size = sizeOf(inner[0].slice(1));
    return [
      membersOf(predictions, isHot[0], numClasses, size),
      membersOf(target, isHot[1], numClasses, size),
    ];
  }
}

/** To which classes the pixels of samples belong. */
interface Members {
  pixels: number;
  /** How often a pixel belongs to a class: 0 or 1. */
  at(sample: number, index: number, pixel: number): number;
}

function membersOf({ data, isFloat }: Values, isHot: boolean, classes: number, pixels: number): Members {
  if (!isHot)
    return { pixels, at: (sample, index, pixel) => Number(data[sample * pixels + pixel] === index) };
  const value = (sample: number, index: number, pixel: number) =>
    data[(sample * classes + index) * pixels + pixel];
  if (!isFloat) return { pixels, at: value };
  const highest = Int32Array.from({ length: data.length / classes }, (_, at) => {
    const [sample, pixel] = [Math.floor(at / pixels), at % pixels];
    let best = 0;
    for (let index = 1; index < classes; index += 1)
      if (isHigher(value(sample, index, pixel), value(sample, best, pixel))) best = index;
    return best;
  });
  return { pixels, at: (sample, index, pixel) => Number(highest[sample * pixels + pixel] === index) };
}

function sumsOf(predicted: Members, expected: Members, sample: number, classes: number): ClassSums {
  const [numerators, denominators, supports] = [0, 1, 2].map(() => new Float64Array(classes));
  for (let index = 0; index < classes; index += 1) {
    let [both, found, wanted] = [0, 0, 0];
    for (let pixel = 0; pixel < predicted.pixels; pixel += 1) {
      const [one, other] = [predicted.at(sample, index, pixel), expected.at(sample, index, pixel)];
      both += one * other;
      found += one;
      wanted += other;
    }
    numerators[index] = 2 * both;
    denominators[index] = found + wanted;
    supports[index] = wanted;
  }
  return { numerators, denominators, supports };
}
