/** A receiver operating characteristic: rates for falling thresholds, so both rise. */
export interface RocCurve {
  /** False positive rates. */
  readonly fpr: Float64Array;
  /** True positive rates. */
  readonly tpr: Float64Array;
}

/**
 * The curve of all thresholds among the scores, from (0, 0) on (torchmetrics: _binary_clf_curve). Without positives the true
 * positive rates are 0, and without negatives the false positive rates.
 *
 * @param isPositive whether the target of a sample is positive
 */
export function exactCurve(scores: ArrayLike<number>, isPositive: (sample: number) => boolean): RocCurve {
  const order = Uint32Array.from({ length: scores.length }, (_, sample) => sample);
  order.sort((a, b) => scores[b] - scores[a]);
  const [fps, tps] = [[0], [0]];
  let [falsePositives, truePositives] = [0, 0];
  for (const [place, sample] of order.entries()) {
    if (isPositive(sample)) truePositives += 1;
    else falsePositives += 1;
    const isLastOfScore = place + 1 === order.length || scores[order[place + 1]] !== scores[sample];
    if (!isLastOfScore) continue;
    fps.push(falsePositives);
    tps.push(truePositives);
  }
  return { fpr: ratesOf(fps, falsePositives), tpr: ratesOf(tps, truePositives) };
}

/**
 * The curve of given thresholds, from a histogram of the scores. It has no point (0, 0) of its own.
 *
 * @param histogram [bins, 2]: negatives and positives with k thresholds at or below their score, for each k
 */
export function binnedCurve(histogram: Float64Array): RocCurve {
  const bins = histogram.length / 2;
  const [fps, tps]: [number[], number[]] = [[], []];
  let [falsePositives, truePositives] = [0, 0];
  for (let bin = bins - 1; bin > 0; bin -= 1) {
    falsePositives += histogram[2 * bin];
    truePositives += histogram[2 * bin + 1];
    fps.push(falsePositives);
    tps.push(truePositives);
  }
  return {
    fpr: ratesOf(fps, falsePositives + histogram[0]),
    tpr: ratesOf(tps, truePositives + histogram[1]),
  };
}

/**
 * The area under a curve, by trapezoids.
 *
 * @param maxFpr the area up to this false positive rate, scaled so that guessing is 0.5 and the best is 1 (McClish)
 */
export function areaUnder(curve: RocCurve, maxFpr = 1): number {
  const isEmpty = [curve.fpr, curve.tpr].some((rates) => rates.every((rate) => rate === 0));
  if (maxFpr === 1 || isEmpty) return trapezoids(curve);
  const stop = curve.fpr.findIndex((rate) => rate > maxFpr);
  const [x0, x1] = [curve.fpr[stop - 1], curve.fpr[stop]];
  const [y0, y1] = [curve.tpr[stop - 1], curve.tpr[stop]];
  const end = y0 + ((maxFpr - x0) / (x1 - x0)) * (y1 - y0);
  const area = trapezoids({
    fpr: Float64Array.of(...curve.fpr.subarray(0, stop), maxFpr),
    tpr: Float64Array.of(...curve.tpr.subarray(0, stop), end),
  });
  const least = maxFpr ** 2 / 2;
  return 0.5 * (1 + (area - least) / (maxFpr - least));
}

function trapezoids({ fpr, tpr }: RocCurve): number {
  let area = 0;
  for (let point = 1; point < fpr.length; point += 1)
    area += ((fpr[point] - fpr[point - 1]) * (tpr[point] + tpr[point - 1])) / 2;
  return area;
}

function ratesOf(counts: readonly number[], total: number): Float64Array {
  return Float64Array.from(counts, (count) => (total === 0 ? 0 : count / total));
}
