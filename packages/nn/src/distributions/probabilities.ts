import { ArgumentError } from '../errors/errors.ts';
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
