import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { groupNorm, instanceNorm } from '../functional/group-norm.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import type { NormalizationOptions } from '../functional/normalization.ts';
import { filledWith } from '../init/constant.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link GroupNorm}, and of {@link InstanceNorm1d} and others. */
export interface ChannelNormOptions extends NormalizationOptions {
  /** If true, learns a weight (initially 1) and a bias (initially 0) for each channel. Default: true; InstanceNorm: false. */
  affine?: boolean;
}

/** Normalizes groups of channels of each sample (torch.nn.GroupNorm): see `F.groupNorm`. */
export class GroupNorm extends Module {
  /** [numChannels] */
  readonly weight: Parameter | undefined;
  /** [numChannels] */
  readonly bias: Parameter | undefined;
  readonly #groups: number;
  readonly #channels: number;
  readonly #eps: number;

  /** - `numGroups`: divides `numChannels` */
  constructor(
    ...given: Call<
      [numGroups: number, numChannels: number, options?: ChannelNormOptions | undefined],
      'nn.GroupNorm'
    >
  ) {
    const [numGroups, numChannels, options] = arranged('nn.GroupNorm', given);
    super();

    requirePositiveInteger('GroupNorm', { numGroups, numChannels });
    if (numChannels % numGroups !== 0) {
      throw new ArgumentError(
        `GroupNorm: expected numGroups to divide numChannels, got ${numGroups} and ${numChannels}.`,
      );
    }
    const { eps = 1e-5, affine = true } = options;
    this.#groups = numGroups;
    this.#channels = numChannels;
    this.#eps = eps;
    this.weight = affine ? filledWith(1, [numChannels]) : undefined;
    this.bias = affine ? filledWith(0, [numChannels]) : undefined;
  }

  /** Normalizes [N, C] or [N, C, …]; the shape is kept. */
  forward(input: Tensor): Tensor {
    return groupNorm(input, this.#groups, this.weight, this.bias, { eps: this.#eps });
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#groups, this.#channels], {
      eps: this.#eps,
      affine: this.weight !== undefined,
      bias: this.bias !== undefined,
    });
  }
}

abstract class InstanceNorm extends Module {
  /** [numFeatures] */
  readonly weight: Parameter | undefined;
  /** [numFeatures] */
  readonly bias: Parameter | undefined;
  readonly #numFeatures: number;
  readonly #eps: number;

  constructor(
    ...given: Call<[numFeatures: number, options?: ChannelNormOptions | undefined], 'nn.InstanceNorm'>
  ) {
    const [numFeatures, options] = arranged('nn.InstanceNorm', given, new.target.name);
    super();
    const name = this.constructor.name;

    requirePositiveInteger(name, { numFeatures });
    const { eps = 1e-5, affine = false } = options;
    this.#numFeatures = numFeatures;
    this.#eps = eps;
    this.weight = affine ? filledWith(1, [numFeatures]) : undefined;
    this.bias = affine ? filledWith(0, [numFeatures]) : undefined;
  }

  /**
   * The number of dimensions of inputs; `written`: their shape, for messages.
   *
   * @internal
   */
  protected abstract readonly inputs: { readonly count: number; readonly written: string };

  /**
   * Normalizes each channel of each sample; the shape is kept.
   *
   * @throws ShapeError if the input has a different number of dimensions or channels
   */
  forward(input: Tensor): Tensor {
    const { count, written } = this.inputs;
    if (input.shape.length !== count || input.shape[1] !== this.#numFeatures) {
      throw new ShapeError(
        `${this.constructor.name}: expected float32${written} with C = ${this.#numFeatures}, got ${describeType(input)}.`,
      );
    }
    return instanceNorm(input, this.weight, this.bias, { eps: this.#eps });
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#numFeatures], {
      eps: this.#eps,
      momentum: 0.1,
      affine: this.weight !== undefined,
      bias: this.bias !== undefined,
      track_running_stats: false,
    });
  }
}

/** Normalizes each channel of [N, C, L] (torch.nn.InstanceNorm1d without running statistics): see `F.instanceNorm`. */
export class InstanceNorm1d extends InstanceNorm {
  /** @internal */
  protected override get inputs() {
    return { count: 3, written: '[N,C,L]' };
  }
}

/** Normalizes each channel of [N, C, H, W] (torch.nn.InstanceNorm2d without running statistics): see `F.instanceNorm`. */
export class InstanceNorm2d extends InstanceNorm {
  /** @internal */
  protected override get inputs() {
    return { count: 4, written: '[N,C,H,W]' };
  }
}

/** Normalizes each channel of [N, C, D, H, W] (torch.nn.InstanceNorm3d without running statistics): see `F.instanceNorm`. */
export class InstanceNorm3d extends InstanceNorm {
  /** @internal */
  protected override get inputs() {
    return { count: 5, written: '[N,C,D,H,W]' };
  }
}
