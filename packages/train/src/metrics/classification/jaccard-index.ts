import type { MetricState } from '../state.ts';
import { checkedZeroDivision, zeroDivisionName } from './precision-recall.ts';
import { StatScoresMetric, divided } from './stat-scores.ts';
import type { Averaged, Counts } from './stat-scores.ts';
import type { Average, ClassificationOptions, ClassificationTask } from './task.ts';

/** Options of {@link JaccardIndex}. */
export type JaccardIndexOptions = ClassificationTask &
  ClassificationOptions & {
    /**
     * Multiclass and multilabel: 'micro': all classes together; 'macro': the mean over classes; 'weighted': weighted by the
     * number of their samples; 'none': the value of each class. Default: 'macro'.
     */
    average?: Average;
    /** The value of a class whose union is empty: 0 or 1. Default: 0. */
    zeroDivision?: 0 | 1;
  };

/**
 * Intersection over union, tp / (tp + fp + fn) (torchmetrics.JaccardIndex): of the pixels of each class in segmentation.
 * Tasks and shapes as for {@link Accuracy}, such as scores [N, C, H, W] and masks [N, H, W].
 *
 * `average: 'macro'` does not count classes that neither occur nor are predicted, nor the class `ignoreIndex`. It is NaN
 * without samples.
 */
export class JaccardIndex<
  const Options extends JaccardIndexOptions = JaccardIndexOptions,
> extends StatScoresMetric<Options> {
  readonly #zeroDivision: 0 | 1;
  readonly #average: Average;
  readonly #ignored: number | undefined;

  /** @throws InvalidArgumentError for an unknown task or option, or a number out of range */
  constructor(options: Options) {
    super(options, zeroDivisionName);
    this.#zeroDivision = checkedZeroDivision('JaccardIndex', options);
    const { task, average = 'macro', ignoreIndex } = options;
    this.#average = task === 'binary' ? 'micro' : average;
    // A predicted class that is ignored as a target has false positives, which do not count either.
    this.#ignored = task === 'multiclass' ? ignoreIndex : undefined;
  }

  protected override score({ tp, fp, fn }: Counts): number {
    return divided(tp, tp + fp + fn, this.#zeroDivision);
  }

  protected override valueOf({ sums }: MetricState): Averaged<Options> {
    const all = Array.from({ length: sums.length / 4 }, (_, index) => {
      const [tp, fp, tn, fn] = sums.subarray(4 * index, 4 * index + 4);
      return { tp, fp, tn, fn };
    });
    return this.#averaged(all) as Averaged<Options>;
  }

  #averaged(counts: readonly Counts[]): number | Float64Array {
    const used = counts.filter((_, index) => index !== this.#ignored);
    if (this.#average === 'micro') {
      const total = (name: keyof Counts) => used.reduce((sum, one) => sum + one[name], 0);
      return this.score({ tp: total('tp'), fp: total('fp'), tn: 0, fn: total('fn') });
    }
    if (this.#average === 'none') return Float64Array.from(counts, (one) => this.score(one));
    const weights = used.map(({ tp, fp, fn }) =>
      this.#average === 'weighted' ? tp + fn : Number(this.options.task === 'multilabel' || tp + fp + fn > 0),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return used.reduce((sum, one, index) => sum + weights[index] * this.score(one), 0) / total;
  }
}
