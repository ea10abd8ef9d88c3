import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isFloat, type TensorData } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { checkElements } from '../graph/element-checks.ts';
import type { Value } from '../graph/node.ts';
import { input } from '../ops/source.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import { defaultGenerator } from '../random/generator.ts';
import type { RandomOptions } from '../random/random-options.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { ReductionMethods } from './reduction-methods.ts';

/**
 * Random samples whose probabilities are a tensor. The uniform numbers are drawn at the call, so a compiled step draws new ones in
 * each run; everything else is part of the graph.
 */
export abstract class RandomMethods<Tensor extends RandomMethods<Tensor>> extends ReductionMethods<Tensor> {
  /**
   * Samples positions with the probabilities of a vector or of each row of a matrix (torch.multinomial), int64: [C] gives
   * [numSamples], [N, C] gives [N, numSamples]. Weights need not sum to 1. Draws from the generator of `manualSeed`, but not the
   * same positions as torch.
   *
   * `replacement` allows a position to be sampled several times; default: false. With it, each sample inverts the cumulative
   * distribution at a uniform number. Without it, the samples are the largest weights divided by exponential numbers, which is
   * the same as drawing one after the other (Gumbel top-k).
   *
   * @throws ShapeError unless there are one or two dimensions of floats; ArgumentError if numSamples is larger than C without
   *   replacement, or for a negative, infinite or zero sum of weights, if the weights were made by `tensor(…)`
   */
  multinomial(
    ...given: Call<
      [numSamples: number, replacement?: boolean | undefined, options?: RandomOptions | undefined],
      'x.multinomial'
    >
  ): Tensor {
    const [numSamples, replacement = false, options] = arranged('x.multinomial', given);
    requireWeights(this.value, numSamples, replacement);
    const weights = this.to('float32');
    return replacement || numSamples === 1
      ? this.#withReplacement(weights, numSamples, options)
      : this.#withoutReplacement(weights, numSamples, options);
  }

  #withReplacement(weights: Tensor, count: number, options: RandomOptions): Tensor {
    const rows = this.shape.slice(0, -1);
    const cumulative = weights.cumsum(-1);
    const total = cumulative.narrow(-1, cumulative.shape.at(-1)! - 1, 1);
    const drawn = this.of(uniformDraw([...rows, count], options))
      .mul(total)
      .unsqueeze(-1);
    // Rounding may make `drawn` equal to the total: positions after the last positive weight are never counted.
    const isBefore = cumulative.unsqueeze(-2).le(drawn).logicalAnd(cumulative.lt(total).unsqueeze(-2));
    return isBefore.long().sum(-1);
  }

  #withoutReplacement(weights: Tensor, count: number, options: RandomOptions): Tensor {
    const noise = this.of(uniformDraw(this.shape, options))
      .clamp(2 ** -25)
      .neg()
      .log1p()
      .neg();
    return weights.div(noise).topk(count, -1).indices;
  }

  /**
   * 1 with the probability of each element, or with the probability `p`, else 0, in the dtype of this tensor (torch.bernoulli). After `manualSeed`, the
   * samples equal torch's on the CPU.
   *
   * @throws ShapeError unless it is a tensor of floats; ArgumentError for a probability outside [0, 1], if it is a number or was
   *   made by `tensor(…)`
   */
  bernoulli(
    ...given: Call<[p?: number | undefined, options?: RandomOptions | undefined], 'x.bernoulli'>
  ): Tensor {
    const [p, options] = arranged('x.bernoulli', given);
    const { value } = this;
    if (!isFloat(value)) throw new ShapeError(`bernoulli: expected float32, got ${describeType(value)}.`);
    if (p === undefined) checkElements(value, requireProbabilities);
    else requireProbabilities([p]);
    const drawn = this.of(uniformDraw(this.shape, options));
    return drawn.lt(p ?? this.to('float32')).to(value.dtype);
  }
}

/** Numbers uniform in [0, 1), drawn now. */
function uniformDraw(shape: readonly number[], { generator = defaultGenerator }: RandomOptions): Value {
  const data = new Float32Array(sizeOf(shape));
  generator.fillUniform(data, 0, 1);
  return input('float32', shape, { data });
}

function requireWeights(value: Value, numSamples: number, replacement: boolean): void {
  const { shape } = value;
  const count = shape.at(-1);
  if (!isFloat(value) || count === undefined || count === 0 || shape.length > 2) {
    throw new ShapeError(
      `multinomial: expected float32[C] or float32[N,C] with C of at least 1, got ${describeType(value)}.`,
    );
  }
  requirePositiveInteger('multinomial', { numSamples });
  if (!replacement && numSamples > count) {
    throw new ArgumentError(
      `multinomial: expected at most ${count} samples without replacement, got ${numSamples}. Pass replacement = true, or fewer samples.`,
    );
  }
  checkElements(value, (weights) => {
    requireRows(weights, count, replacement ? 1 : numSamples);
  });
}

function requireRows(weights: TensorData, count: number, leastPositive: number): void {
  for (let start = 0; start < weights.length; start += count) {
    let positive = 0;
    for (let i = start; i < start + count; i += 1) {
      const weight = Number(weights[i]);
      if (!(weight >= 0 && weight < Infinity)) {
        throw new ArgumentError(`multinomial: expected finite weights of at least 0, got ${weight}.`);
      }
      positive += Number(weight > 0);
    }
    if (positive < leastPositive) {
      throw new ArgumentError(
        `multinomial: expected at least ${leastPositive} weights above 0, got ${positive} in row ${start / count}.`,
      );
    }
  }
}

function requireProbabilities(elements: TensorData | readonly number[]): void {
  for (const p of elements) {
    if (!(Number(p) >= 0 && Number(p) <= 1)) {
      throw new ArgumentError(`bernoulli: expected probabilities from 0 to 1, got ${p}.`);
    }
  }
}
