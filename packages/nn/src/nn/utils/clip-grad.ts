import { ArgumentError, NnError } from '../../errors.ts';
import type { Parameter } from '../../parameter.ts';
import { requireOptions, type OptionNames } from '../../require-options.ts';
import { requireNothingPending } from '../../turns.ts';

export interface ClipGradNormOptions {
  /** p of the norm (Σ|g|ᵖ)^(1/p), above 0; Infinity: the largest |g|. 2 unless given. */
  normType?: number;
  /** Whether a norm that is NaN or infinite is an error; else gradients are scaled by it and are lost. False unless given. */
  errorIfNonfinite?: boolean;
}

const optionNames: OptionNames<ClipGradNormOptions> = { normType: true, errorIfNonfinite: true };

/**
 * Scales all gradients by one factor so that their norm, as of one vector, is at most `maxNorm` (torch.nn.utils.clip_grad_norm_). Comes between
 * `await loss.backward()` and `await optimizer.step()`. Gradients are changed where they lie, in the buckets of DistributedDataParallel too,
 * where they are averaged already: every rank finds the same norm. Parameters without a gradient are left out.
 *
 * @returns the norm before, summed in double; 0 without any gradient
 * @throws ArgumentError for a maxNorm below 0 or a normType that is not above 0
 * @throws NnError (ERR_NONFINITE) when asked for; (ERR_NOT_AWAITED) if a backward pass or an optimizer step on one of the parameters is pending; nothing is changed then
 */
export function clipGradNorm(
  parameters: Parameter | Iterable<Parameter>,
  maxNorm: number,
  options: ClipGradNormOptions = {},
): number {
  requireOptions('clipGradNorm', options, optionNames);
  const { normType = 2, errorIfNonfinite = false } = options;
  if (!(maxNorm >= 0)) throw new ArgumentError(`clipGradNorm: maxNorm must be at least 0, given ${maxNorm}.`);
  if (!(normType > 0)) throw new ArgumentError(`clipGradNorm: normType must be above 0, given ${normType}.`);
  const gradients = gradientsOf('clipGradNorm', parameters);
  const norm = normOf(gradients, normType);
  if (errorIfNonfinite && !Number.isFinite(norm)) {
    throw new NnError(
      'ERR_NONFINITE',
      `clipGradNorm: the norm of all gradients is ${norm}, so they cannot be scaled; ` +
        'loss.backward({ detectAnomaly: true }) says where that began.',
    );
  }
  // torch's guard against a norm of 0.
  const factor = maxNorm / (norm + 1e-6);
  if (factor >= 1) return norm;
  for (const gradient of gradients) {
    for (let place = 0; place < gradient.length; place += 1) gradient[place] *= factor;
  }
  return norm;
}

/** Cuts every element of all gradients to [−clipValue, clipValue], in place (torch.nn.utils.clip_grad_value_). NaN stays. */
export function clipGradValue(parameters: Parameter | Iterable<Parameter>, clipValue: number): void {
  if (!(clipValue >= 0)) {
    throw new ArgumentError(`clipGradValue: clipValue must be at least 0, given ${clipValue}.`);
  }
  for (const gradient of gradientsOf('clipGradValue', parameters)) {
    for (let place = 0; place < gradient.length; place += 1) {
      gradient[place] = Math.min(Math.max(gradient[place], -clipValue), clipValue);
    }
  }
}

/** A parameter that is named twice has one gradient. */
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
  // The common case apart: ** costs ten times as much as the product.
  if (p === 2)
    for (let place = 0; place < gradient.length; place += 1) sum += gradient[place] * gradient[place];
  else for (let place = 0; place < gradient.length; place += 1) sum += Math.abs(gradient[place]) ** p;
  return sum;
}
