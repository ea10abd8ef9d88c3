import type { Value } from '../../../graph/node.ts';
import { reshape, transpose } from '../../../ops/shape.ts';
import { sizeOf } from '../../../value-type.ts';

/** The axes of [N, C, H, W] in the order [N, H, W, C], and the inverse. */
export const lastAxes = [0, 2, 3, 1] as const;
export const firstAxes = [0, 3, 1, 2] as const;

/** A shape [N, C, H, W] as [N, H, W, C]. */
export function lastShape(shape: readonly number[]): number[] {
  return lastAxes.map((axis) => shape[axis]);
}

/** The place of an axis of [N, C, H, W] in [N, H, W, C]. */
export function lastAxis(axis: number): number {
  return firstAxes[axis];
}

/** True if [N, C, H, W] and [N, H, W, C] have the same order of elements. */
export function isEitherWay([, channels, ...spatial]: readonly number[]): boolean {
  return channels === 1 || sizeOf(spatial) === 1;
}

/** The forms [N, H, W, C] of the values [N, C, H, W] of a graph. */
export class Layouts {
  readonly #forms = new Map<Value, Value>();
  /** Values that are computed in the form [N, H, W, C]. */
  readonly #computed = new Set<Value>();
  readonly #transposed = new Map<Value, Value>();
  readonly #recomputed = new Map<Value, () => Value>();

  /** True if reading the form [N, C, H, W] costs a transpose, and reading the other form does not. */
  isLast(value: Value): boolean {
    return this.#computed.has(value);
  }

  /** True if the form [N, H, W, C] needs no transpose. */
  isFree(value: Value): boolean {
    return this.#forms.has(value) || isEitherWay(padded(value.shape));
  }

  /** The form [N, H, W, C] of a value that is repeated to [N, C, H, W]. A number stays as it is. */
  last(value: Value): Value {
    if (value.shape.length === 0) return value;
    const compute = this.#recomputed.get(value);
    if (compute !== undefined) return compute();
    const known = this.#forms.get(value) ?? this.#transposed.get(value);
    if (known !== undefined) return known;
    const shape = padded(value.shape);
    if (isEitherWay(shape)) return reshape(value, lastShape(shape));
    const form = transpose(reshape(value, shape), lastAxes);
    this.#transposed.set(value, form);
    return form;
  }

  /** The form [N, C, H, W] of a value that is computed as [N, H, W, C]. */
  first(form: Value): Value {
    const shape = firstAxes.map((axis) => form.shape[axis]);
    if (isEitherWay(shape)) return reshape(form, shape);
    return this.computed(transpose(form, firstAxes), form);
  }

  /** Records that a value is the transpose of one that is computed as [N, H, W, C]. */
  computed(value: Value, form: Value): Value {
    this.#computed.add(value);
    this.#forms.set(value, form);
    return value;
  }

  /** The same for a form that each reader computes, because it costs less than memory. */
  recomputed(compute: () => Value): Value {
    const value = this.first(compute());
    this.#recomputed.set(value, compute);
    return value;
  }

  /** Offers a form that may be computed instead of the value. */
  offer(value: Value, form: Value): void {
    this.#forms.set(value, form);
  }
}

/** Broadcasting aligns axes from the right, so missing axes are the first ones. */
function padded(shape: readonly number[]): number[] {
  return [...Array<number>(4 - shape.length).fill(1), ...shape];
}
