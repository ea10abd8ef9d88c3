import { InvalidArgumentError, requireInteger, requireOptions, type OptionNames } from '@ringrun/core';
import type { Values } from './input.ts';
import { Metric, type MetricOptions } from './metric.ts';
import type { MetricState } from './state.ts';

/** Options of {@link Perplexity}. */
export interface PerplexityOptions extends MetricOptions {
  /** Targets with this value, such as the padding, are left out. Default: none. */
  ignoreIndex?: number;
}

const optionNames: OptionNames<PerplexityOptions> = { ignoreIndex: true, processGroup: true };

/**
 * exp of the mean negative log probability of the target tokens (torchmetrics.text.Perplexity). Predictions are logits
 * [N, L, V], targets tokens [N, L]. NaN without tokens.
 */
export class Perplexity extends Metric {
  readonly #ignoreIndex: number | undefined;

  /** @throws InvalidArgumentError for an unknown option, or an `ignoreIndex` that is not an integer */
  constructor(options: PerplexityOptions = {}) {
    const who = 'Perplexity';
    requireOptions(who, options, optionNames);
    const { ignoreIndex } = options;
    if (ignoreIndex !== undefined)
      requireInteger(ignoreIndex, { who, what: 'ignoreIndex', min: Number.MIN_SAFE_INTEGER });
    super({ sums: 2 }, options);
    this.#ignoreIndex = ignoreIndex;
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const vocabulary = requireShapes(predictions, target);
    const sums = new Float64Array(2);
    for (let position = 0; position < target.data.length; position += 1) {
      const token = target.data[position];
      if (token === this.#ignoreIndex) continue;
      requireToken(token, vocabulary, position);
      sums[0] += negativeLogProbability(predictions.data, position * vocabulary, vocabulary, token);
      sums[1] += 1;
    }
    return { sums, lists: [] };
  }

  protected override valueOf({ sums }: MetricState): number {
    return Math.exp(sums[0] / sums[1]);
  }
}

/** log Σ exp(logits) - logit of the token; finite where the probability itself would be 0. */
function negativeLogProbability(
  logits: ArrayLike<number>,
  start: number,
  vocabulary: number,
  token: number,
): number {
  let highest = -Infinity;
  for (let at = start; at < start + vocabulary; at += 1) highest = Math.max(highest, logits[at]);
  let sum = 0;
  for (let at = start; at < start + vocabulary; at += 1) sum += Math.exp(logits[at] - highest);
  return highest + Math.log(sum) - logits[start + token];
}

/** Size of the vocabulary. */
function requireShapes({ shape: given }: Values, { shape: expected }: Values): number {
  if (given.length > 1 && given.slice(0, -1).join() === expected.join()) return given.at(-1)!;
  throw new InvalidArgumentError(
    `Perplexity.update: expected logits [N, L, V] and targets [N, L], got [${given.join(', ')}] and [${expected.join(', ')}].`,
  );
}

function requireToken(token: number, vocabulary: number, position: number): void {
  if (Number.isInteger(token) && token >= 0 && token < vocabulary) return;
  throw new InvalidArgumentError(
    `Perplexity.update: target: expected integers from 0 to ${vocabulary - 1}, got ${token} at index ${position}.`,
  );
}
