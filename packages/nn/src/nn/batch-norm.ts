import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { normalizeBatch, type RunningStatistics } from '../functional/batch-norm.ts';
import type { NormalizationOptions } from '../functional/normalization.ts';
import { changeBy } from '../graph/changes.ts';
import { describeType } from '../value-type.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import { filledWith } from '../init/constant.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { spellAsTorch } from './attributes.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositive, requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link BatchNorm1d}, {@link BatchNorm2d} and {@link BatchNorm3d}. */
export interface BatchNormModuleOptions extends NormalizationOptions {
  /** Weight of each batch in the running statistics; null: their mean over all batches. Default: 0.1. */
  momentum?: number | null;
  /** If true, learns a weight (initially 1) and a bias (initially 0) per channel. Default: true. */
  affine?: boolean;
  /** If true, tracks running statistics for evaluation. If false, evaluation uses the batch's statistics. Default: true. */
  trackRunningStats?: boolean;
}

/**
 * Normalizes each channel over a batch: see `F.batchNorm`. In training, each forward call updates the running statistics
 * once, when its graph first runs.
 */
export abstract class BatchNorm extends Module {
  /** [numFeatures] */
  readonly weight: Parameter | undefined;
  /** [numFeatures] */
  readonly bias: Parameter | undefined;
  /** [numFeatures], initially 0. */
  readonly runningMean: BufferTensor | undefined;
  /** [numFeatures], initially 1. */
  readonly runningVar: BufferTensor | undefined;
  /** One number, float32 as all buffers are: exact up to 2²⁴ batches, where it stops growing. */
  readonly numBatchesTracked: BufferTensor | undefined;
  readonly #numFeatures: number;
  #momentum: number | null;
  readonly #eps: number;

  static {
    spellAsTorch(this.prototype, ['runningMean', 'runningVar', 'numBatchesTracked']);
  }

  constructor(
    ...given: Call<[numFeatures: number, options?: BatchNormModuleOptions | undefined], 'nn.BatchNorm'>
  ) {
    const [numFeatures, options] = arranged('nn.BatchNorm', given, new.target.name);
    super();
    const name = this.constructor.name;

    const { eps = 1e-5, momentum = 0.1, affine = true, trackRunningStats = true } = options;
    requirePositiveInteger(name, { numFeatures });
    requirePositive(name, { eps });
    this.#numFeatures = numFeatures;
    this.#momentum = requireMomentum(name, momentum);
    this.#eps = eps;
    this.weight = affine ? filledWith(1, [numFeatures]) : undefined;
    this.bias = affine ? filledWith(0, [numFeatures]) : undefined;
    if (!trackRunningStats) return;
    this.runningMean = new BufferTensor(new Float32Array(numFeatures));
    this.runningVar = new BufferTensor(new Float32Array(numFeatures).fill(1));
    this.numBatchesTracked = new BufferTensor(new Float32Array(1), []);
  }

  /**
   * `takes`: true if inputs may have `dims` dimensions; `written`: the expected shape, for messages.
   *
   * @internal
   */
  protected abstract readonly inputs: { readonly takes: (dims: number) => boolean; readonly written: string };

  /**
   * Ranks whose batches are normalized together in training. Default: undefined, this rank's batch alone.
   *
   * @internal
   */
  protected group(): CollectiveGroup | undefined {
    return undefined;
  }

  /** Weight of each batch in the running statistics; null: their mean over all batches. May be changed at any time. */
  get momentum(): number | null {
    return this.#momentum;
  }
  /** @throws ArgumentError if the number is not from 0 to 1 */
  set momentum(momentum: number | null) {
    this.#momentum = requireMomentum(this.constructor.name, momentum);
  }

  /** Sets the running statistics to their initial values (torch's reset_running_stats). */
  resetRunningStats(): void {
    const change = changeBy('resetRunningStats()');
    const initial = [this.runningMean, this.runningVar, this.numBatchesTracked];
    for (const [position, buffer] of initial.entries()) {
      buffer?.data.fill(position === 1 ? 1 : 0);
      buffer?.recordChange(change);
    }
  }

  /**
   * Constructor arguments.
   *
   * @internal
   */
  get settings(): { numFeatures: number; eps: number; momentum: number | null } {
    return { numFeatures: this.#numFeatures, eps: this.#eps, momentum: this.#momentum };
  }

  /**
   * Normalizes each channel of the input, whose second dimension is `numFeatures`; the shape is kept.
   *
   * @throws ShapeError if the input has a different number of dimensions or channels
   */
  forward(input: Tensor): Tensor {
    const { takes, written } = this.inputs;
    if (!takes(input.shape.length) || input.shape[1] !== this.#numFeatures) {
      throw new ShapeError(
        `${this.constructor.name}: expected float32${written} with C = ${this.#numFeatures}, got ${describeType(input)}.`,
      );
    }
    const running = this.#running();
    return normalizeBatch(this.constructor.name, {
      input,
      running,
      weight: this.weight,
      bias: this.bias,
      training: this.training || running === undefined,
      momentum: this.#momentum,
      eps: this.#eps,
      // As in torch, evaluation without running statistics uses this rank's batch.
      group: this.training ? this.group() : undefined,
    });
  }

  #running(): RunningStatistics | undefined {
    const { runningMean: mean, runningVar: variance, numBatchesTracked: batches } = this;
    return mean && variance && batches && { mean, variance, batches };
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#numFeatures], {
      eps: this.#eps,
      momentum: this.#momentum,
      affine: this.weight !== undefined,
      bias: this.bias !== undefined,
      track_running_stats: this.runningMean !== undefined,
    });
  }
}

function requireMomentum(name: string, momentum: number | null): number | null {
  if (momentum === null || (momentum >= 0 && momentum <= 1)) return momentum;
  throw new ArgumentError(`${name}: momentum must be from 0 to 1, or null, got ${momentum}.`);
}

/** Batch normalization of [N, C] or [N, C, L] (torch.nn.BatchNorm1d). */
export class BatchNorm1d extends BatchNorm {
  /** @internal */
  protected override get inputs() {
    return { takes: (dims: number) => dims === 2 || dims === 3, written: '[N,C] or [N,C,L]' };
  }
}

/** Batch normalization of images, [N, C, H, W] (torch.nn.BatchNorm2d). */
export class BatchNorm2d extends BatchNorm {
  /** @internal */
  protected override get inputs() {
    return { takes: (dims: number) => dims === 4, written: '[N,C,H,W]' };
  }
}

/** Batch normalization of volumes, [N, C, D, H, W] (torch.nn.BatchNorm3d). */
export class BatchNorm3d extends BatchNorm {
  /** @internal */
  protected override get inputs() {
    return { takes: (dims: number) => dims === 5, written: '[N,C,D,H,W]' };
  }
}
