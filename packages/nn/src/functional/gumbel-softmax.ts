import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { ArgumentError } from '../errors/errors.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { oneHot } from './one-hot.ts';

/** Options of {@link gumbelSoftmax}. */
export interface GumbelSoftmaxOptions {
  /** Temperature: the smaller, the closer a sample is to one-hot. Default: 1. */
  tau?: number;
  /** If true, returns a one-hot sample with the gradient of the soft sample. Default: false. */
  hard?: boolean;
  /** Dimension of the classes. Default: −1. */
  dim?: number;
}

/**
 * A differentiable random sample of classes (torch.nn.functional.gumbel_softmax; Jang and others, 2017). Draws from the
 * generator of `manualSeed`, but not the same numbers as torch.
 *
 * - `logits`: [..., C]
 */
export function gumbelSoftmax(
  ...given: Call<[logits: Tensor, options?: GumbelSoftmaxOptions | undefined], 'F.gumbelSoftmax'>
): Tensor {
  const [logits, options] = arranged('F.gumbelSoftmax', given);
  if (isNarrow(logits)) return roundedOnce([logits], (x) => gumbelSoftmax(x, options));
  const { tau = 1, hard = false, dim = -1 } = options;
  if (!(tau > 0)) throw new ArgumentError(`gumbelSoftmax: expected tau above 0, got ${String(tau)}.`);
  // In (0, 1), so that both logarithms are finite.
  const uniform = rand(logits.shape).clamp(2 ** -25, 1 - 2 ** -24);
  const noise = uniform.log().neg().log().neg();
  const soft = logits.add(noise).div(tau).softmax(dim);
  if (!hard) return soft;
  const classes = oneHot(soft.argmax(dim), logits.size(dim)).movedim(-1, dim).float();
  return classes.sub(soft.detach()).add(soft);
}
