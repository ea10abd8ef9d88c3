import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { cast, div, max } from '../ops/elementwise.ts';
import { ctcLosses } from '../ops/own/ctc-loss.ts';
import { reshape } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { tensor, type Tensor } from '../tensor/tensor.ts';
import { reduced, type ReductionOptions } from './reduction.ts';

/** Options of {@link ctcLoss} and of `nn.CTCLoss`. */
export interface CTCLossOptions extends ReductionOptions {
  /** Index of the blank label. Default: 0. */
  blank?: number;
  /** If true, a target that is too long for its input has loss 0 instead of infinity, and no gradient. Default: false. */
  zeroInfinity?: boolean;
}

/** Lengths of sequences: an int64 tensor [N], or numbers. One number for one sequence without a batch. */
export type Lengths = Tensor | readonly number[] | number;

/**
 * Connectionist temporal classification loss (torch.nn.functional.ctc_loss; Graves and others, 2006): −log of the
 * probability that the classes of all times, without repetitions and blanks, are the target. Computed in log space, in double
 * precision, by an operator of the addon.
 *
 * The reduction 'mean' divides each loss by the length of its target. As in torch, the gradient assumes that `logProbs` are
 * results of `logSoftmax`.
 *
 * - `logProbs`: [T, N, C], or [T, C] for one sequence
 * - `targets`: int64 [N, S] with padding after each target, or all targets concatenated
 * - `inputLengths`: at most T; new lengths do not recompile the graph
 * - `targetLengths`: lengths of the targets
 * @throws ShapeError for other shapes. A run throws ArgumentError for lengths and classes that are out of range.
 */
export function ctcLoss(
  ...given: Call<
    [
      logProbs: Tensor,
      targets: Tensor,
      inputLengths: Lengths,
      targetLengths: Lengths,
      options?: CTCLossOptions | undefined,
    ],
    'F.ctcLoss'
  >
): Tensor {
  const [givenLogProbs, targets, inputLengths, targetLengths, options] = arranged('F.ctcLoss', given);
  const [logProbs] = autocastTensors('ctcLoss', givenLogProbs);
  if (isNarrow(logProbs)) {
    return roundedOnce([logProbs], (x) => ctcLoss(x, targets, inputLengths, targetLengths, options));
  }
  const { blank = 0, reduction = 'mean', zeroInfinity = false } = options;
  const isBatch = logProbs.shape.length === 3;
  const [times, count, classes] = isBatch ? logProbs.shape : [logProbs.shape[0], 1, logProbs.shape[1]];
  if (!isFloat(logProbs) || (!isBatch && logProbs.shape.length !== 2)) {
    throw new ShapeError(`ctcLoss: expected float32[T,N,C] or [T,C], got ${describeType(logProbs)}.`);
  }
  const isPadded = targets.shape.length === 2 && targets.shape[0] === count;
  if (targets.dtype !== 'int64' || !(isPadded || targets.shape.length === 1)) {
    throw new ShapeError(
      `ctcLoss: expected targets int64[${count},S] or all in one dimension, got ${describeType(targets)}.`,
    );
  }
  if (!Number.isInteger(blank) || blank < 0 || blank >= classes) {
    throw new ArgumentError(`ctcLoss: blank must be from 0 to ${classes - 1}, got ${blank}.`);
  }
  const lengths = lengthsOf('targetLengths', targetLengths, count);
  const losses = ctcLosses(
    {
      logProbs: reshape(logProbs.value, [times, count, classes]),
      targets: targets.value,
      inputLengths: lengthsOf('inputLengths', inputLengths, count),
      targetLengths: lengths,
    },
    { blank, zeroInfinity },
  );
  const each = reduction === 'mean' ? div(losses, max(cast(lengths, 'float32'), constant(1))) : losses;
  return reduced('ctcLoss', isBatch ? each : reshape(each, []), reduction);
}

function lengthsOf(name: string, given: Lengths, count: number): Value {
  const list = typeof given === 'number' ? [given] : given;
  const lengths =
    'value' in list ? list : tensor(BigInt64Array.from(list, (length) => wholeNumber(name, length)));
  if (lengths.dtype !== 'int64' || lengths.shape.reduce((size, length) => size * length, 1) !== count) {
    throw new ShapeError(`ctcLoss: expected ${name} int64[${count}], got ${describeType(lengths)}.`);
  }
  return reshape(lengths.value, [count]);
}

function wholeNumber(name: string, length: number): bigint {
  if (!Number.isInteger(length)) throw new ArgumentError(`ctcLoss: ${name} must be whole, got ${length}.`);
  return BigInt(length);
}
