import { ArgumentError } from '../errors/errors.ts';
import { binaryCrossEntropyWithLogits } from '../functional/loss.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Machine epsilon of float32. */
const epsilon = 2 ** -23;

/** Probabilities away from 0 and 1, so that their logarithms are finite, as in torch. */
export function clampProbabilities(probs: Tensor): Tensor {
  return probs.clamp(epsilon, 1 - epsilon);
}

/** The one of two parameters that is given. */
export function requireOne<T>(distribution: string, probs: T | undefined, logits: T | undefined): void {
  if ((probs === undefined) !== (logits === undefined)) return;
  throw new ArgumentError(
    `${distribution}: expected probs or logits, got ${probs === undefined ? 'neither' : 'both'}. Write new distributions.${distribution}({ probs }) or new distributions.${distribution}({ logits }).`,
  );
}

/** log(p / (1 − p)), finite for 0 and 1. */
export function logitsOf(probs: Tensor): Tensor {
  const clamped = clampProbabilities(probs);
  return clamped.log().sub(clamped.neg().log1p());
}

/** −(v·log p + (1 − v)·log(1 − p)), with broadcasting. */
export function crossEntropyOfLogits(logits: Tensor, value: Tensor): Tensor {
  const zeros = logits.mul(0).add(value.mul(0));
  return binaryCrossEntropyWithLogits(logits.expand(zeros.shape), value.expand(zeros.shape), {
    reduction: 'none',
  });
}
