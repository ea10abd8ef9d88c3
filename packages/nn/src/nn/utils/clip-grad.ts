import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { loadNative } from '@ringrun/native';
import { requireNothingPending } from '../../executor/operation-queue.ts';
import {
  nonfiniteNorm,
  normClipping,
  valueClipping,
  type ClipGradNormOptions,
} from '../../optim/clipping.ts';
import type { Parameter } from '../../tensor/parameter.ts';

export type { ClipGradNormOptions };

/**
 * Clips the norm of all gradients together, scaling them in place so that it is at most `maxNorm`
 * (torch.nn.utils.clip_grad_norm_). Call it between `await loss.backward()` and `await optimizer.step()`. With
 * DistributedDataParallel they are already averaged, so every rank computes the same norm. Parameters without a gradient are
 * skipped.
 *
 * Runs on the calling thread. `optimizer.step({ clipGradNorm: maxNorm })` and `compileStep` with this option compute
 * the same update in one program, without rewriting the gradients.
 *
 * @returns the norm before clipping, summed in double precision; 0 if no parameter has a gradient
 * @throws ArgumentError if maxNorm is below 0 or normType is not above 0
 * @throws NnError `ERR_NONFINITE` with `errorIfNonfinite`, or `ERR_NOT_AWAITED` if a backward pass or an optimizer step
 *   on one of the parameters is pending. Nothing is changed in either case.
 */
export function clipGradNorm(
  ...given: Call<
    [parameters: Parameter | Iterable<Parameter>, maxNorm: number, options?: ClipGradNormOptions | undefined],
    'nn.utils.clipGradNorm'
  >
): number {
  const [parameters, maxNorm, options] = arranged('nn.utils.clipGradNorm', given);
  const { limit, normType, errorIfNonfinite } = normClipping('clipGradNorm', maxNorm, options);
  const gradients = gradientsOf('clipGradNorm', parameters);
  // float32, so that the result is bit-identical to a compiled step's.
  const norm = loadNative().jointNorm(gradients, Math.fround(normType));
  if (errorIfNonfinite && !Number.isFinite(norm)) throw nonfiniteNorm('clipGradNorm', norm);
  // As in torch, against division by 0.
  const factor = Math.fround(Math.fround(limit) / (norm + 1e-6));
  if (!(factor >= 1)) loadNative().scaleArrays(gradients, factor);
  return norm;
}

/** Clamps all gradients to [−clipValue, clipValue], in place (torch.nn.utils.clip_grad_value_). NaN is kept. */
export function clipGradValue(
  ...given: Call<[parameters: Parameter | Iterable<Parameter>, clipValue: number], 'nn.utils.clipGradValue'>
): void {
  const [parameters, clipValue] = arranged('nn.utils.clipGradValue', given);
  const { limit } = valueClipping('clipGradValue', clipValue);
  loadNative().clampArrays(gradientsOf('clipGradValue', parameters), limit);
}

/** The gradients of the parameters, without duplicates. */
function gradientsOf(where: string, parameters: Parameter | Iterable<Parameter>): Float32Array[] {
  const all = Symbol.iterator in parameters ? [...new Set(parameters)] : [parameters];
  requireNothingPending(where, all, { besideReads: true });
  return all.map(({ grad }) => grad).filter((gradient) => gradient !== undefined);
}
