import { requireBoolean } from '../checks/require-boolean.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { ClippingOptions } from './clipping.ts';
import type { Optimizer } from './optimizer.ts';

/** Options of {@link GradScaler}, those of torch. Only `enabled` has an effect. */
export interface GradScalerOptions {
  /** If false, nothing is printed. Default: `true`. */
  enabled?: boolean;
  /** Default: 65,536. */
  initScale?: number;
  /** Default: 2. */
  growthFactor?: number;
  /** Default: 0.5. */
  backoffFactor?: number;
  /** Default: 2,000. */
  growthInterval?: number;
}

const optionNames: OptionNames<GradScalerOptions> = {
  enabled: true,
  initScale: true,
  growthFactor: true,
  backoffFactor: true,
  growthInterval: true,
};

let isExplained = false;

/**
 * The loop of torch.amp.GradScaler without scaling. Gradients of float16 need a scale because they vanish below 6e-8;
 * bfloat16 has the range of float32, and the gradients of parameters are float32. Remove it: `loss.backward()` and
 * `optimizer.step()` do the same. The first one prints that.
 */
export class GradScaler {
  /** @throws ArgumentError for unknown options */
  constructor(options: GradScalerOptions = {}) {
    requireOptions('GradScaler', options, optionNames);
    const { enabled = true } = options;
    requireBoolean('GradScaler: enabled', enabled);
    if (!enabled || isExplained) return;
    isExplained = true;
    process.stderr.write(
      'ringrun: GradScaler: bfloat16 has the range of float32, so gradients need no scale: it is 1. Call loss.backward() and optimizer.step() without it. (printed once)\n',
    );
  }

  /** Returns the loss. */
  scale(loss: Tensor): Tensor {
    return loss;
  }

  /** Does nothing, because gradients are not scaled (torch: unscale_). */
  unscale(_optimizer: Optimizer): void {
    // The scale is 1.
  }

  /** Calls `optimizer.step`, even if a gradient is infinite or NaN. */
  step(optimizer: Optimizer, options: ClippingOptions = {}): Promise<void> {
    return optimizer.step(options);
  }

  /** Does nothing. */
  update(_newScale?: number): void {
    // The scale stays 1.
  }

  /** Returns 1. */
  getScale(): number {
    return 1;
  }

  /** Returns false. */
  isEnabled(): boolean {
    return false;
  }

  /** Returns an empty object, as a disabled scaler of torch. */
  stateDict(): Record<string, never> {
    return {};
  }

  /** Does nothing: a state of torch has no meaning for a scale of 1. */
  loadStateDict(_state: Readonly<Record<string, unknown>>): void {
    // Nothing to load.
  }
}
