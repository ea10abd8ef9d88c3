import { InvalidArgumentError, requireInteger } from '@ringrun/core';
import { requireSameShape, type Values } from '../input.ts';
import type { MetricOptions } from '../metric.ts';

/** Options of a metric of one or several outputs. */
export interface OutputsOptions extends MetricOptions {
  /** Number of outputs: predictions [N, outputs], and a value for each. Default: all elements together, and one number. */
  numOutputs?: number;
}

/** Number, or the value of each output with `numOutputs`. */
export type OfOutputs<Options> =
  Options extends Readonly<Record<'numOutputs', number>> ? Float64Array : number;

/** @throws InvalidArgumentError for a number below 1 */
export function requireOutputs(who: string, { numOutputs = 1 }: OutputsOptions): number {
  return requireInteger(numOutputs, { who, what: 'numOutputs', min: 1 });
}

/**
 * Number of samples of a batch: rows of [N, outputs].
 *
 * @throws InvalidArgumentError for shapes that differ, or that do not end with the number of outputs
 */
export function rowsOf(
  who: string,
  predictions: Values,
  target: Values,
  numOutputs: number | undefined,
): number {
  requireSameShape(who, predictions, target);
  const { shape, data } = target;
  if (numOutputs === undefined) return data.length;
  if ((shape.length === 2 ? shape[1] : 1) !== numOutputs || shape.length > 2) {
    throw new InvalidArgumentError(
      `${who}: expected shape [N, ${numOutputs}] for numOutputs: ${numOutputs}, got [${shape.join(', ')}].`,
    );
  }
  return data.length / numOutputs;
}
