import { BufferTensor } from '../buffer-tensor.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { normalizeBatch, type RunningStatistics } from '../functional/batch-norm.ts';
import type { NormalizationOptions } from '../functional/normalization.ts';
import { describeType } from '../graph/node.ts';
import type { CollectiveGroup } from '../graph/operators.ts';
import { filledWith } from '../init/constant.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';
import { requirePositive, requirePositiveInteger } from './require.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

export interface BatchNormModuleOptions extends NormalizationOptions {
  /** How much of a running statistic each batch replaces; null: their mean over all batches. 0.1 unless given. */
  momentum?: number | null;
  /** Whether a weight (1 at the start) and a bias (0) are learned for each channel; true unless given. */
  affine?: boolean;
  /** Whether running statistics are kept, for evaluation; else that too uses the batch's. True unless given. */
  trackRunningStats?: boolean;
}

export const batchNormOptions: OptionNames<BatchNormModuleOptions> = {
  eps: true,
  momentum: true,
  affine: true,
  trackRunningStats: true,
};

/**
 * Normalizes each channel over a batch: see `F.batchNorm`. In training the running statistics are brought up to date when a forward call's
 * graph first runs, once for each call.
 */
export abstract class BatchNorm extends Module {
  /** [numFeatures] */
  readonly weight: Parameter | undefined;
  /** [numFeatures] */
  readonly bias: Parameter | undefined;
  /** [numFeatures], 0 at the start. */
  readonly runningMean: BufferTensor | undefined;
  /** [numFeatures], 1 at the start. */
  readonly runningVar: BufferTensor | undefined;
  /** One number, float32 as all buffers are: exact up to 2²⁴ batches, where it stays. */
  readonly numBatchesTracked: BufferTensor | undefined;
  readonly #numFeatures: number;
  readonly #momentum: number | null;
  readonly #eps: number;

  constructor(numFeatures: number, options: BatchNormModuleOptions = {}) {
    super();
    const name = this.constructor.name;
    requireOptions(name, options, batchNormOptions);
    const { eps = 1e-5, momentum = 0.1, affine = true, trackRunningStats = true } = options;
    requirePositiveInteger(name, { numFeatures });
    requirePositive(name, { eps });
    if (momentum !== null && !(momentum >= 0 && momentum <= 1)) {
      throw new ArgumentError(`${name}: momentum must be from 0 to 1, or null, given ${momentum}.`);
    }
    this.#numFeatures = numFeatures;
    this.#momentum = momentum;
    this.#eps = eps;
    this.weight = affine ? filledWith(1, [numFeatures]) : undefined;
    this.bias = affine ? filledWith(0, [numFeatures]) : undefined;
    if (!trackRunningStats) return;
    this.runningMean = new BufferTensor(new Float32Array(numFeatures));
    this.runningVar = new BufferTensor(new Float32Array(numFeatures).fill(1));
    this.numBatchesTracked = new BufferTensor(new Float32Array(1), []);
  }

  /** Whether an input may have so many dimensions, and how messages write its shape. */
  protected abstract readonly inputs: { readonly takes: (dims: number) => boolean; readonly written: string };

  /** Ranks whose batches are one in training; none unless overridden: this rank's batch alone. */
  protected group(): CollectiveGroup | undefined {
    return undefined;
  }

  /** What it was made with. */
  get settings(): { numFeatures: number; eps: number; momentum: number | null } {
    return { numFeatures: this.#numFeatures, eps: this.#eps, momentum: this.#momentum };
  }

  forward(input: Tensor): Tensor {
    const { takes, written } = this.inputs;
    if (!takes(input.shape.length) || input.shape[1] !== this.#numFeatures) {
      throw new ShapeError(
        `${this.constructor.name}: takes float32${written} with C = ${this.#numFeatures}, given ${describeType(input)}.`,
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
      // As torch: evaluation without running statistics is by this rank's batch.
      group: this.training ? this.group() : undefined,
    });
  }

  #running(): RunningStatistics | undefined {
    const { runningMean: mean, runningVar: variance, numBatchesTracked: batches } = this;
    return mean && variance && batches && { mean, variance, batches };
  }
}

/** Batch normalization of [N, C] or [N, C, L] (torch.nn.BatchNorm1d). */
export class BatchNorm1d extends BatchNorm {
  protected override get inputs() {
    return { takes: (dims: number) => dims === 2 || dims === 3, written: '[N,C] or [N,C,L]' };
  }
}

/** Batch normalization of images, [N, C, H, W] (torch.nn.BatchNorm2d). */
export class BatchNorm2d extends BatchNorm {
  protected override get inputs() {
    return { takes: (dims: number) => dims === 4, written: '[N,C,H,W]' };
  }
}
