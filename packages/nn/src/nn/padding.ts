import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { pad, type PadOptions } from '../functional/padding.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requireNumber } from '../checks/require-number.ts';

/** Adds elements around the last dimensions: see `F.pad`. */
export abstract class Padding extends Module {
  readonly #amounts: readonly number[];
  readonly #options: PadOptions;

  /** @internal */
  constructor(padding: number | readonly number[], options: PadOptions) {
    super();
    const count = 2 * this.axes();
    const amounts: unknown = typeof padding === 'number' ? Array<number>(count).fill(padding) : padding;
    if (!Array.isArray(amounts) || amounts.length !== count || !amounts.every(Number.isInteger)) {
      throw new ArgumentError(
        `${this.constructor.name}: expected one integer or ${count}, from the last dimension on, got ${JSON.stringify(padding)}.`,
      );
    }
    this.#amounts = amounts as number[];
    this.#options = options;
  }

  /**
   * Number of dimensions that are padded.
   *
   * @internal
   */
  protected abstract axes(): number;

  /**
   * Pads the dimensions after N and C, or after C.
   *
   * @throws ShapeError if the input has a different number of dimensions or is too short for the mode
   */
  forward(input: Tensor): Tensor {
    const rank = input.shape.length;
    if (rank !== this.axes() + 1 && rank !== this.axes() + 2) {
      throw new ShapeError(
        `${this.constructor.name}: expected ${this.axes() + 1} or ${this.axes() + 2} dimensions, got ${describeType(input)}.`,
      );
    }
    return pad(input, this.#amounts, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    const { value } = this.#options;
    const padding = this.#amounts;
    return value === undefined ? writeArguments([padding]) : writeArguments([], { padding, value });
  }
}

/** Pads sequences with a constant (torch.nn.ConstantPad1d). */
export class ConstantPad1d extends Padding {
  /**
   * - `padding`: one number for all sides, or [left, right]
   * - `value`: the padding value
   */
  constructor(...given: Call<[padding: number | readonly number[], value: number], 'nn.ConstantPad1d'>) {
    const [padding, value] = arranged('nn.ConstantPad1d', given);
    super(padding, { value });
    requireNumber('ConstantPad1d', { value });
  }

  /** @internal */
  protected override axes() {
    return 1;
  }
}

/** Pads images with a constant (torch.nn.ConstantPad2d). */
export class ConstantPad2d extends Padding {
  /**
   * - `padding`: one number for all sides, or [left, right, top, bottom]
   * - `value`: the padding value
   */
  constructor(...given: Call<[padding: number | readonly number[], value: number], 'nn.ConstantPad2d'>) {
    const [padding, value] = arranged('nn.ConstantPad2d', given);
    super(padding, { value });
    requireNumber('ConstantPad2d', { value });
  }

  /** @internal */
  protected override axes() {
    return 2;
  }
}

/** Pads volumes with a constant (torch.nn.ConstantPad3d). */
export class ConstantPad3d extends Padding {
  /**
   * - `padding`: one number for all sides, or [left, right, top, bottom, front, back]
   * - `value`: the padding value
   */
  constructor(...given: Call<[padding: number | readonly number[], value: number], 'nn.ConstantPad3d'>) {
    const [padding, value] = arranged('nn.ConstantPad3d', given);
    super(padding, { value });
    requireNumber('ConstantPad3d', { value });
  }

  /** @internal */
  protected override axes() {
    return 3;
  }
}

/** Pads sequences with zeros (torch.nn.ZeroPad1d). */
export class ZeroPad1d extends Padding {
  /** - `padding`: one number for all sides, or [left, right] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ZeroPad1d'>) {
    const [padding] = arranged('nn.ZeroPad1d', given);
    super(padding, {});
  }

  /** @internal */
  protected override axes() {
    return 1;
  }
}

/** Pads images with zeros (torch.nn.ZeroPad2d). */
export class ZeroPad2d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ZeroPad2d'>) {
    const [padding] = arranged('nn.ZeroPad2d', given);
    super(padding, {});
  }

  /** @internal */
  protected override axes() {
    return 2;
  }
}

/** Pads volumes with zeros (torch.nn.ZeroPad3d). */
export class ZeroPad3d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom, front, back] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ZeroPad3d'>) {
    const [padding] = arranged('nn.ZeroPad3d', given);
    super(padding, {});
  }

  /** @internal */
  protected override axes() {
    return 3;
  }
}

/** Pads sequences by mirroring at the first and last element (torch.nn.ReflectionPad1d). */
export class ReflectionPad1d extends Padding {
  /** - `padding`: one number for all sides, or [left, right] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ReflectionPad1d'>) {
    const [padding] = arranged('nn.ReflectionPad1d', given);
    super(padding, { mode: 'reflect' });
  }

  /** @internal */
  protected override axes() {
    return 1;
  }
}

/** Pads images by mirroring at the first and last element (torch.nn.ReflectionPad2d). */
export class ReflectionPad2d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ReflectionPad2d'>) {
    const [padding] = arranged('nn.ReflectionPad2d', given);
    super(padding, { mode: 'reflect' });
  }

  /** @internal */
  protected override axes() {
    return 2;
  }
}

/** Pads volumes by mirroring at the first and last element (torch.nn.ReflectionPad3d). */
export class ReflectionPad3d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom, front, back] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ReflectionPad3d'>) {
    const [padding] = arranged('nn.ReflectionPad3d', given);
    super(padding, { mode: 'reflect' });
  }

  /** @internal */
  protected override axes() {
    return 3;
  }
}

/** Pads sequences by repeating the first and last element (torch.nn.ReplicationPad1d). */
export class ReplicationPad1d extends Padding {
  /** - `padding`: one number for all sides, or [left, right] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ReplicationPad1d'>) {
    const [padding] = arranged('nn.ReplicationPad1d', given);
    super(padding, { mode: 'replicate' });
  }

  /** @internal */
  protected override axes() {
    return 1;
  }
}

/** Pads images by repeating the border elements (torch.nn.ReplicationPad2d). */
export class ReplicationPad2d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ReplicationPad2d'>) {
    const [padding] = arranged('nn.ReplicationPad2d', given);
    super(padding, { mode: 'replicate' });
  }

  /** @internal */
  protected override axes() {
    return 2;
  }
}

/** Pads volumes by repeating the border elements (torch.nn.ReplicationPad3d). */
export class ReplicationPad3d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom, front, back] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.ReplicationPad3d'>) {
    const [padding] = arranged('nn.ReplicationPad3d', given);
    super(padding, { mode: 'replicate' });
  }

  /** @internal */
  protected override axes() {
    return 3;
  }
}

/** Pads sequences circularly, with the elements from the other end (torch.nn.CircularPad1d). */
export class CircularPad1d extends Padding {
  /** - `padding`: one number for all sides, or [left, right] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.CircularPad1d'>) {
    const [padding] = arranged('nn.CircularPad1d', given);
    super(padding, { mode: 'circular' });
  }

  /** @internal */
  protected override axes() {
    return 1;
  }
}

/** Pads images circularly, with the elements from the other end (torch.nn.CircularPad2d). */
export class CircularPad2d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.CircularPad2d'>) {
    const [padding] = arranged('nn.CircularPad2d', given);
    super(padding, { mode: 'circular' });
  }

  /** @internal */
  protected override axes() {
    return 2;
  }
}

/** Pads volumes circularly, with the elements from the other end (torch.nn.CircularPad3d). */
export class CircularPad3d extends Padding {
  /** - `padding`: one number for all sides, or [left, right, top, bottom, front, back] */
  constructor(...given: Call<[padding: number | readonly number[]], 'nn.CircularPad3d'>) {
    const [padding] = arranged('nn.CircularPad3d', given);
    super(padding, { mode: 'circular' });
  }

  /** @internal */
  protected override axes() {
    return 3;
  }
}
