import { ArgumentError, NnError } from '../../errors.ts';
import type { Parameter } from '../../parameter.ts';
import { requireOptions, type OptionNames } from '../../require-options.ts';
import { requireNothingPending } from '../../operation-queue.ts';

/** Options of {@link clipGradNorm}. */
export interface ClipGradNormOptions {
  /** p of the norm (Σ|g|ᵖ)^(1/p), above 0; Infinity: the largest |g|. Default: 2. */
  normType?: number;
  /** If true, throws if the norm is NaN or infinite. If false, such a norm destroys the gradients. Default: false. */
  errorIfNonfinite?: boolean;
}

const optionNames: OptionNames<ClipGradNormOptions> = { normType: true, errorIfNonfinite: true };

/**
 * Scales all gradients by one factor so that their joint norm is at most `maxNorm` (torch.nn.utils.clip_grad_norm_).
 * Call it between `await loss.backward()` and `await optimizer.step()`. Gradients are changed in place. With
 * DistributedDataParallel they are already averaged, so every rank computes the same norm. Parameters without a gradient
 * are skipped.
 *
 * @returns the norm before clipping, summed in double precision; 0 if no parameter has a gradient
 * @throws ArgumentError if maxNorm is below 0 or normType is not above 0
 * @throws NnError `ERR_NONFINITE` with `errorIfNonfinite`, or `ERR_NOT_AWAITED` if a backward pass or an optimizer step
 *   on one of the parameters is pending. Nothing is changed in either case.
 */
export function clipGradNorm(
  parameters: Parameter | Iterable<Parameter>,
  maxNorm: number,
  options: ClipGradNormOptions = {},
): number {
  requireOptions('clipGradNorm', options, optionNames);
  const { normType = 2, errorIfNonfinite = false } = options;
  if (!(maxNorm >= 0)) throw new ArgumentError(`clipGradNorm: maxNorm must be at least 0, got ${maxNorm}.`);
  if (!(normType > 0)) throw new ArgumentError(`clipGradNorm: normType must be above 0, got ${normType}.`);
  const gradients = gradientsOf('clipGradNorm', parameters);
  const norm = normOf(gradients, normType);
  if (errorIfNonfinite && !Number.isFinite(norm)) {
    throw new NnError(
      'ERR_NONFINITE',
      `clipGradNorm: expected a finite norm of all gradients, got ${norm}. ` +
        'Call loss.backward({ detectAnomaly: true }) to find the operator that produced it.',
    );
  }
  // torch's guard against division by 0.
  const factor = maxNorm / (norm + 1e-6);
  if (factor >= 1) return norm;
  for (const gradient of gradients) {
    for (let index = 0; index < gradient.length; index += 1) gradient[index] *= factor;
  }
  return norm;
}

/** Clamps all gradients to [−clipValue, clipValue], in place (torch.nn.utils.clip_grad_value_). NaN is kept. */
export function clipGradValue(parameters: Parameter | Iterable<Parameter>, clipValue: number): void {
  if (!(clipValue >= 0)) {
    throw new ArgumentError(`clipGradValue: clipValue must be at least 0, got ${clipValue}.`);
  }
  for (const gradient of gradientsOf('clipGradValue', parameters)) {
    for (let index = 0; index < gradient.length; index += 1) {
      gradient[index] = Math.min(Math.max(gradient[index], -clipValue), clipValue);
    }
  }
}

/** The gradients of the parameters, without duplicates. */
function gradientsOf(where: string, parameters: Parameter | Iterable<Parameter>): Float32Array[] {
  const all = Symbol.iterator in parameters ? [...new Set(parameters)] : [parameters];
  requireNothingPending(where, all, { besideReads: true });
  return all.map(({ grad }) => grad).filter((gradient) => gradient !== undefined);
}

function normOf(gradients: readonly Float32Array[], p: number): number {
  let total = 0;
  if (p === Infinity) {
    for (const gradient of gradients) {
      for (const element of gradient) total = Math.max(total, Math.abs(element));
    }
    return total;
  }
  for (const gradient of gradients) total += sumOfPowers(gradient, p);
  return total ** (1 / p);
}

function sumOfPowers(gradient: Float32Array, p: number): number {
  let sum = 0;
  // Fast path of the common case: ** is ten times as slow as a product.
  if (p === 2)
    for (let index = 0; index < gradient.length; index += 1) sum += gradient[index] * gradient[index];
  else for (let index = 0; index < gradient.length; index += 1) sum += Math.abs(gradient[index]) ** p;
  return sum;
}
