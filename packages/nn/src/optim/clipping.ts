import { ArgumentError, NnError } from '../errors/errors.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';

/** Options of {@link nn.utils.clipGradNorm}. */
export interface ClipGradNormOptions {
  /** p of the norm (Σ|g|ᵖ)^(1/p), above 0; Infinity: the largest |g|. Default: 2. */
  normType?: number;
  /** If true, throws if the norm is NaN or infinite. If false, such a norm destroys the gradients. Default: false. */
  errorIfNonfinite?: boolean;
}

/** A maximum norm with options. */
export interface ClipToNorm extends ClipGradNormOptions {
  /** The maximum norm of all gradients together. */
  maxNorm: number;
}

/**
 * How an update clips the gradients that it reads, by norm or by value. `grad` keeps the gradients before clipping, because
 * the program of the update scales or clamps them while it reads them.
 */
export interface ClippingOptions {
  /**
   * Scales the gradients of all parameters of the optimizer by one factor so that their joint norm is at most this, as
   * `nn.utils.clipGradNorm`. `optimizer.gradNorm` is the norm before clipping. Default: no limit.
   */
  clipGradNorm?: number | ClipToNorm;
  /** Clamps each gradient to [−clipGradValue, clipGradValue], as `nn.utils.clipGradValue`. Default: no limit. */
  clipGradValue?: number;
}

/** Names of {@link ClippingOptions}. */
export const clippingOptionNames: OptionNames<ClippingOptions> = { clipGradNorm: true, clipGradValue: true };
const normOptionNames: OptionNames<ClipGradNormOptions> = { normType: true, errorIfNonfinite: true };
const toNormNames: OptionNames<ClipToNorm> = { ...normOptionNames, maxNorm: true };

/** Checked arguments of `clipGradNorm`. `limit` is the maximum norm. */
export interface NormClipping {
  readonly kind: 'norm';
  readonly limit: number;
  readonly normType: number;
  readonly errorIfNonfinite: boolean;
}

/** Checked arguments of `clipGradValue`. */
export interface ValueClipping {
  readonly kind: 'value';
  readonly limit: number;
}

export type Clipping = NormClipping | ValueClipping;

/** @throws ArgumentError for unknown options, numbers out of range, or both ways of clipping at once */
export function clippingOf(where: string, options: ClippingOptions): Clipping | undefined {
  requireOptions(where, options, clippingOptionNames);
  const { clipGradNorm, clipGradValue } = options;
  if (clipGradNorm !== undefined && clipGradValue !== undefined) {
    throw new ArgumentError(
      `${where}: expected clipGradNorm or clipGradValue, got both. Call nn.utils.clipGradNorm or nn.utils.clipGradValue before ${where} for the first.`,
    );
  }
  if (clipGradValue !== undefined) return valueClipping(where, clipGradValue);
  if (clipGradNorm === undefined) return undefined;
  if (typeof clipGradNorm === 'number') return normClipping(where, clipGradNorm, {});
  requireOptions(`${where}: clipGradNorm`, clipGradNorm, toNormNames);
  const { maxNorm, ...others } = clipGradNorm;
  return normClipping(where, maxNorm, others);
}

/** @throws ArgumentError for unknown options and numbers out of range */
export function normClipping(where: string, maxNorm: number, options: ClipGradNormOptions): NormClipping {
  requireOptions(where, options, normOptionNames);
  const { normType = 2, errorIfNonfinite = false } = options;
  if (!(maxNorm >= 0)) throw new ArgumentError(`${where}: maxNorm must be at least 0, got ${maxNorm}.`);
  if (!(normType > 0)) throw new ArgumentError(`${where}: normType must be above 0, got ${normType}.`);
  return { kind: 'norm', limit: maxNorm, normType, errorIfNonfinite };
}

/** @throws ArgumentError if the number is below 0 */
export function valueClipping(where: string, clipValue: number): ValueClipping {
  if (!(clipValue >= 0)) {
    throw new ArgumentError(`${where}: clipValue must be at least 0, got ${clipValue}.`);
  }
  return { kind: 'value', limit: clipValue };
}

/** The error of `errorIfNonfinite`. */
export function nonfiniteNorm(where: string, norm: number): NnError {
  return new NnError(
    'ERR_NONFINITE',
    `${where}: expected a finite norm of all gradients, got ${norm}. ` +
      'Call loss.backward({ detectAnomaly: true }) to find the operator that produced it.',
  );
}
