import { StatScoresMetric, divided, type Counts, type StatScoresOptions } from './stat-scores.ts';

/**
 * The fraction of samples that are classified correctly (torchmetrics.Accuracy).
 *
 * - `task: 'binary'`: predictions and targets [N, …]. Predictions are labels, probabilities, or logits, if some are outside
 *   of [0, 1].
 * - `task: 'multiclass'`: scores [N, C, …] or classes [N, …], targets [N, …]. With `average: 'micro'`, the fraction of all
 *   samples; with another average, the recall of each class.
 * - `task: 'multilabel'`: predictions and targets [N, L, …]; each label counts.
 *
 * A class without samples has the value 0 and does not count in `average: 'macro'`.
 */
export class Accuracy<
  const Options extends StatScoresOptions = StatScoresOptions,
> extends StatScoresMetric<Options> {
  protected override score({ tp, fp, tn, fn }: Counts): number {
    // Of several classes, a sample is either found or not; a true negative is no success.
    return this.options.task === 'multiclass' ? divided(tp, tp + fn) : divided(tp + tn, tp + fp + tn + fn);
  }
}
