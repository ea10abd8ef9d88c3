import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { roundedOnce } from '../tensor/rounded-once.ts';
import { isFloat } from '../dtype.ts';
import type { BufferTensor } from '../tensor/buffer-tensor.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { assignWhenRun, type AssignmentRule } from '../graph/assignment.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import { affine, batchNormalize, type BatchNormalized } from '../ops/batch-normalization.ts';
import { combineStatistics, type Statistics } from '../ops/collective.ts';
import { add, div, mul, neg, sqrt, sub } from '../ops/elementwise.ts';
import { reduceSum } from '../ops/reduction.ts';
import { constant, constantTensor, number } from '../ops/source.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { NormalizationOptions } from './normalization.ts';

/** Options of {@link batchNorm}. */
export interface BatchNormOptions extends NormalizationOptions {
  /** If true, normalizes by the batch's statistics and updates the running ones. Default: false. */
  training?: boolean;
  /** Weight of each batch in the running statistics. Default: 0.1. */
  momentum?: number;
}

/**
 * (x − mean) / √(variance + eps)·weight + bias for each channel (torch.nn.functional.batch_norm; Ioffe and Szegedy, 2015).
 *
 * In training, normalizes by the batch's mean and variance and updates the running statistics, if any, to
 * (1 − momentum)·running + momentum·batch, with the batch's unbiased variance. The update happens when the graph first
 * runs (`backward`, `item` or `array`), once per call of this function. In evaluation, normalizes by the running
 * statistics, which do not change.
 *
 * - `input`: [N, C] or [N, C, …]
 * - `runningMean`: [C]; required in evaluation
 * - `runningVar`: [C]; required in evaluation
 * - `weight`: [C]. Default: 1.
 * - `bias`: [C]. Default: 0.
 */
export function batchNorm(
  ...given: Call<
    [
      input: Tensor,
      runningMean?: BufferTensor | undefined,
      runningVar?: BufferTensor | undefined,
      weight?: Tensor | undefined,
      bias?: Tensor | undefined,
      options?: BatchNormOptions | undefined,
    ],
    'F.batchNorm'
  >
): Tensor {
  const [input, runningMean, runningVar, weight, bias, options] = arranged('F.batchNorm', given);
  const { training = false, momentum = 0.1, eps = 1e-5 } = options;
  const tracked = runningMean && runningVar;
  return normalizeBatch('batchNorm', {
    input,
    running: tracked && { mean: runningMean, variance: runningVar },
    weight,
    bias,
    training,
    momentum,
    eps,
  });
}

/** Statistics over all batches so far. */
export interface RunningStatistics {
  readonly mean: BufferTensor;
  readonly variance: BufferTensor;
  /** Number of batches. */
  readonly batches?: BufferTensor;
}

export interface BatchNormInputs {
  readonly input: Tensor;
  readonly running: RunningStatistics | undefined;
  readonly weight: Tensor | undefined;
  readonly bias: Tensor | undefined;
  readonly training: boolean;
  /** null: cumulative average, where every batch has the same weight (requires `running.batches`). */
  readonly momentum: number | null;
  readonly eps: number;
  /** In training, the ranks whose batches are normalized together. Default: this rank's batch alone. */
  readonly group?: CollectiveGroup | undefined;
}

/** See `batchNorm`. */
export function normalizeBatch(name: string, inputs: BatchNormInputs): Tensor {
  requireChannels(name, inputs);
  if (!inputs.training) return new Tensor(normalizeByRunning(name, inputs));
  const { group } = inputs;
  if (group === undefined) return new Tensor(normalizeByBatch(name, inputs));
  return roundedOnce([inputs.input], (input) => new Tensor(normalizeByGroup(group, { ...inputs, input })));
}

function normalizeByBatch(
  name: string,
  { input, running, weight, bias, momentum, eps }: BatchNormInputs,
): Value {
  const { count } = reducedIn(input);
  if (count === 0) return affine(input.value, weightOr1(input, weight), biasOr0(input, bias));
  if (count < 2) {
    throw new ShapeError(
      `${name}: expected more than 1 value per channel in training, got ${describeType(input)}. Use a larger batch or eval().`,
    );
  }
  const batch = batchNormalize(input.value, weightOr1(input, weight), biasOr0(input, bias), eps);
  const correction = constant(count / (count - 1));
  if (running) assignWhenRun(batch.normalized, runningStatisticsRule(running, batch, correction, momentum));
  return batch.normalized;
}

/**
 * With M and V over the batches of all ranks, m and v over this rank's batch, and y = (x − m) / √(v + eps):
 * (x − M) / √(V + eps) = y·√(v + eps) / √(V + eps) + (m − M) / √(V + eps). The additional cost is one pass over the
 * input, shared with weight and bias, and y is the only additional array of the input's size for the backward pass.
 */
function normalizeByGroup(
  group: CollectiveGroup,
  { input, running, weight, bias, momentum, eps }: BatchNormInputs,
): Value {
  const { axes, count } = reducedIn(input);
  const own = normalizeOwn(input, axes, eps);
  const all = combineStatistics(own, count, group);
  const correction = div(all.total, sub(all.total, constant(1)));
  if (running) assignWhenRun(all.mean, runningStatisticsRule(running, all, correction, momentum));
  const [ownDeviation, deviation] = [own, all].map(({ variance }) => sqrt(add(variance, constant(eps))));
  const by = weightOr1(input, weight);
  const scale = mul(div(ownDeviation, deviation), by);
  const shift = mul(div(sub(own.mean, all.mean), deviation), by);
  return affine(own.normalized, scale, add(shift, biasOr0(input, bias)));
}

/** A rank without samples contributes zeros: its means would be NaN in the forward and backward pass. */
function normalizeOwn(input: Tensor, axes: readonly number[], eps: number): BatchNormalized {
  const x = input.value;
  if (sizeOf(x.shape) > 0) return batchNormalize(x, weightOr1(input), biasOr0(input), eps);
  const zeros = reduceSum(x, axes);
  return { normalized: x, mean: zeros, variance: zeros };
}

/** All axes except the channel axis, and the number of values per channel. */
function reducedIn({ shape }: Tensor): { axes: number[]; count: number } {
  const axes = [...shape.keys()].filter((axis) => axis !== 1);
  return { axes, count: sizeOf(axes.map((axis) => shape[axis])) };
}

function weightOr1({ shape }: Tensor, weight?: Tensor): Value {
  return weight ? weight.value : perChannel(shape[1], 1);
}

function biasOr0({ shape }: Tensor, bias?: Tensor): Value {
  return bias ? bias.value : perChannel(shape[1], 0);
}

function perChannel(channels: number, number: number): Value {
  return constantTensor([channels], Array<number>(channels).fill(number));
}

/** One pass over the input; all other operations are over channels. */
function normalizeByRunning(name: string, { input, running, weight, bias, eps }: BatchNormInputs): Value {
  if (running === undefined) {
    throw new ArgumentError(
      `${name}: expected a running mean and variance in evaluation, got none. Pass both, or use training: true.`,
    );
  }
  const deviation = sqrt(add(running.variance.value, constant(eps)));
  const scale = div(weight ? weight.value : constant(1), deviation);
  const offset = mul(running.mean.value, scale);
  const shift = bias ? sub(bias.value, offset) : neg(offset);
  return affine(input.value, scale, shift);
}

/** @param correction factor that makes the variance unbiased: n / (n − 1) */
function runningStatisticsRule(
  { mean, variance, batches }: RunningStatistics,
  batch: Statistics,
  correction: Value,
  momentum: number | null,
): AssignmentRule {
  const unbiased = mul(batch.variance, correction);
  return (read) => {
    const after = batches && add(read(batches), constant(1));
    const part = momentum === null ? div(constant(1), after!) : number(momentum);
    const moved = (running: BufferTensor, value: Value) => {
      const kept = mul(read(running), sub(constant(1), part));
      return [running, add(kept, mul(value, part))] as const;
    };
    const counted = batches && after ? [[batches, after] as const] : [];
    return [moved(mean, batch.mean), moved(variance, unbiased), ...counted];
  };
}

function requireChannels(name: string, { input, running, weight, bias }: BatchNormInputs): void {
  if (!isFloat(input) || input.shape.length < 2) {
    throw new ShapeError(`${name}: expected float32[N,C] or [N,C,…], got ${describeType(input)}.`);
  }
  const [, channels] = input.shape;
  const given = { runningMean: running?.mean, runningVar: running?.variance, weight, bias };
  for (const [what, tensor] of Object.entries(given)) {
    if (tensor !== undefined && tensor.shape.join() !== `${channels}`) {
      throw new ShapeError(
        `${name}: ${what} must be float32[${channels}], one number per channel of ${describeType(input)}, got ${describeType(tensor)}.`,
      );
    }
  }
}
