import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { RandomOptions } from '../random/random-options.ts';
import type { Tensor } from './tensor.ts';

/** Samples positions with the probabilities of a vector or of each row of a matrix (torch.multinomial): see {@link Tensor.multinomial}. */
export function multinomial(
  ...given: Call<
    [
      input: Tensor,
      numSamples: number,
      replacement?: boolean | undefined,
      options?: RandomOptions | undefined,
    ],
    'multinomial'
  >
): Tensor {
  const [input, numSamples, replacement, options] = arranged('multinomial', given);
  return input.multinomial(numSamples, replacement, options);
}

/** 1 with the probability of each element, else 0 (torch.bernoulli): see {@link Tensor.bernoulli}. */
export function bernoulli(
  ...given: Call<[input: Tensor, p?: number | undefined, options?: RandomOptions | undefined], 'bernoulli'>
): Tensor {
  const [input, p, options] = arranged('bernoulli', given);
  return input.bernoulli(p, options);
}
