import type { BufferAssignment } from '../compiler/buffer-assignment.ts';
import type { NnError } from '../errors/errors.ts';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { Value } from '../graph/node.ts';
import type { ClipNormAttributes } from '../graph/attributes.ts';
import { max, min, mul, neg } from '../ops/elementwise.ts';
import { input } from '../ops/source.ts';
import { nonfiniteNorm, type Clipping } from './clipping.ts';

type NormOf = (largest: Value, attributes: ClipNormAttributes) => { norm: Value; factor: Value };

/** The clipping of gradients as part of an update's graph. The limit is an input, so that other limits reuse the program. */
export class ClipGraph {
  /** The output of the update besides parameters and states: the norm. */
  readonly outputs: readonly BufferAssignment[];
  readonly #requiresFinite: boolean;
  readonly #limit = new Float32Array(1);
  readonly #norm: ManagedBuffer | undefined;
  readonly #clip: (gradient: Value) => Value;

  /** @param normOf returns the norm of all gradients and its factor */
  constructor(clipping: Clipping, normOf: NormOf) {
    const limit = input('float32', [], { data: this.#limit });
    this.#requiresFinite = clipping.kind === 'norm' && clipping.errorIfNonfinite;
    if (clipping.kind === 'value') {
      const least = neg(limit);
      this.#clip = (gradient) => min(max(gradient, least), limit);
      this.outputs = [];
      return;
    }
    const { normType, errorIfNonfinite: requiresFinite } = clipping;
    const { norm, factor } = normOf(limit, { normType, requiresFinite });
    this.#norm = new ManagedBuffer(new Float32Array(1));
    this.#clip = (gradient) => mul(gradient, factor);
    this.outputs = [{ value: norm, into: this.#norm }];
  }

  /** The clipped gradient that the update reads instead of a gradient or part of it. */
  clipped(gradient: Value): Value {
    return this.#clip(gradient);
  }

  /** Call it before each run. */
  prepare({ limit }: Clipping): void {
    this.#limit[0] = limit;
    this.#norm?.array.fill(0);
  }

  /** The norm of the last run; undefined for `clipGradValue`. */
  get norm(): number | undefined {
    return this.#norm?.array[0];
  }

  /** The error of a run that failed because of the norm. */
  get failure(): NnError | undefined {
    const norm = this.norm ?? 0;
    return this.#requiresFinite && !Number.isFinite(norm) ? nonfiniteNorm('clipGradNorm', norm) : undefined;
  }
}

/** Equal for clippings with the same graph. */
export function clippingKey(clipping: Clipping | undefined): string {
  if (clipping?.kind !== 'norm') return clipping?.kind ?? '';
  return `norm${clipping.normType}${clipping.errorIfNonfinite ? '!' : ''}`;
}
