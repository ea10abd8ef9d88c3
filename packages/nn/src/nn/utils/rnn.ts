import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { cat, stack, where } from '../../tensor/combine.ts';
import { full } from '../../tensor/creation.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { describeType } from '../../value-type.ts';
import { Tensor, tensor } from '../../tensor/tensor.ts';

/**
 * A batch of sequences of different lengths (torch.nn.utils.rnn.PackedSequence), which nn.RNN, LSTM and GRU accept and return.
 * Made by {@link packPaddedSequence} and {@link packSequence}. Lengths are inputs of the compiled program: new lengths in
 * a batch of the same padded shape do not recompile it.
 */
export class PackedSequence {
  /**
   * [L, N, …], with arbitrary elements after each length.
   *
   * @internal
   */
  readonly padded: Tensor;
  /** Steps of each sequence. */
  readonly lengths: readonly number[];
  /**
   * True if elements after each length are 0.
   *
   * @internal
   */
  readonly isZeroPadded: boolean;

  /** @internal */
  constructor(padded: Tensor, lengths: readonly number[], isZeroPadded: boolean) {
    this.padded = padded;
    this.lengths = lengths;
    this.isZeroPadded = isZeroPadded;
  }

  /** Number of sequences that have each step, for every step of the longest sequence (torch's batch_sizes). */
  get batchSizes(): number[] {
    return Array.from(
      { length: longestOf(this.lengths) },
      (_, step) => this.lengths.filter((length) => length > step).length,
    );
  }

  /** The elements step by step, [sum of the lengths, …]: within a step, from the longest sequence to the shortest. */
  get data(): Tensor {
    const rows = [...this.lengths.keys()].sort((a, b) => this.lengths[b] - this.lengths[a]);
    const places = this.batchSizes.flatMap((count, step) =>
      rows.slice(0, count).map((row) => BigInt(step * rows.length + row)),
    );
    return this.padded.flatten(0, 1).indexSelect(0, tensor(BigInt64Array.from(places)));
  }
}

/** Options of {@link packPaddedSequence}. */
export interface PackPaddedSequenceOptions {
  /** If true, the input is [N, L, …], else [L, N, …]. Default: false. */
  batchFirst?: boolean;
  /** If true, rejects lengths that are not in decreasing order, as torch does. Default: true. */
  enforceSorted?: boolean;
}

/**
 * Packs a padded batch (torch.nn.utils.rnn.pack_padded_sequence).
 *
 * - `input`: [L, N, …], or [N, L, …] with `batchFirst`
 * - `lengths`: the steps of each sequence, from 1 to L: numbers, or an int64 tensor created by `tensor(…)`
 * @throws ArgumentError if lengths are out of range, or not in decreasing order with `enforceSorted`
 */
export function packPaddedSequence(
  ...given: Call<
    [input: Tensor, lengths: readonly number[] | Tensor, options?: PackPaddedSequenceOptions | undefined],
    'nn.utils.rnn.packPaddedSequence'
  >
): PackedSequence {
  const [input, lengths, options] = arranged('nn.utils.rnn.packPaddedSequence', given);
  const { batchFirst = false, enforceSorted = true } = options;
  if (input.shape.length < 2) {
    throw new ShapeError(
      `packPaddedSequence: expected ${batchFirst ? '[N,L,…]' : '[L,N,…]'}, got ${describeType(input)}.`,
    );
  }
  const padded = batchFirst ? input.transpose(0, 1) : input;
  const numbers = numbersOf(lengths);
  const [steps, rows] = padded.shape;
  if (numbers.length !== rows) {
    throw new ArgumentError(
      `packPaddedSequence: expected ${rows} lengths for ${describeType(input)}, got ${numbers.length}.`,
    );
  }
  const wrong = numbers.find((length) => !(Number.isInteger(length) && length >= 1 && length <= steps));
  if (wrong !== undefined) {
    throw new ArgumentError(`packPaddedSequence: expected lengths from 1 to ${steps}, got ${wrong}.`);
  }
  if (enforceSorted && numbers.some((length, row) => row > 0 && length > numbers[row - 1])) {
    throw new ArgumentError(
      `packPaddedSequence: expected lengths in decreasing order, got [${numbers.join()}]. Sort the batch, or pass { enforceSorted: false }.`,
    );
  }
  return new PackedSequence(padded, numbers, false);
}

/** Options of {@link padPackedSequence}. */
export interface PadPackedSequenceOptions {
  /** If true, returns [N, L, …], else [L, N, …]. Default: false. */
  batchFirst?: boolean;
  /** Padding value. Default: 0. */
  paddingValue?: number;
  /**
   * Padded length L. With the same value for every batch, all batches share one compiled program. Default: the largest length.
   */
  totalLength?: number | undefined;
}

/**
 * The inverse of {@link packPaddedSequence} (torch.nn.utils.rnn.pad_packed_sequence).
 *
 * @returns the padded batch, and the lengths, int64 [N]
 * @throws ArgumentError if a sequence is longer than `totalLength`
 */
export function padPackedSequence(
  ...given: Call<
    [sequence: PackedSequence, options?: PadPackedSequenceOptions | undefined],
    'nn.utils.rnn.padPackedSequence'
  >
): [output: Tensor, lengths: Tensor] {
  const [sequence, options] = arranged('nn.utils.rnn.padPackedSequence', given);
  const { batchFirst = false, paddingValue = 0, totalLength } = options;
  const longest = longestOf(sequence.lengths);
  const total = totalLength ?? longest;
  if (!Number.isInteger(total) || total < longest) {
    throw new ArgumentError(
      `padPackedSequence: expected a totalLength of at least ${longest}, the largest length, got ${total}.`,
    );
  }
  const lengths = lengthsOf(sequence);
  const { padded } = sequence;
  const filled =
    sequence.isZeroPadded && paddingValue === 0
      ? padded
      : where(existing(lengths, padded.shape), padded, paddingValue);
  const output = resized(filled, total, paddingValue);
  return [batchFirst ? output.transpose(0, 1) : output, lengths];
}

/** Options of {@link padSequence}. */
export interface PadSequenceOptions {
  /** If true, returns [N, L, …], else [L, N, …]. Default: false. */
  batchFirst?: boolean;
  /** Padding value. Default: 0. */
  paddingValue?: number;
}

/**
 * Pads sequences [Lᵢ, …] to the longest one and stacks them (torch.nn.utils.rnn.pad_sequence). Each set of lengths compiles
 * its own graph; to compile one program for many, pad with ringrun's `padTo` in the data loader.
 */
export function padSequence(
  ...given: Call<
    [sequences: readonly Tensor[], options?: PadSequenceOptions | undefined],
    'nn.utils.rnn.padSequence'
  >
): Tensor {
  const [sequences, options] = arranged('nn.utils.rnn.padSequence', given);
  const { batchFirst = false, paddingValue = 0 } = options;
  if (sequences.length === 0)
    throw new ArgumentError('padSequence: expected at least one sequence, got none.');
  const longest = longestOf(sequences.map(({ shape }) => shape[0]));
  const padded = sequences.map((sequence) => resized(sequence, longest, paddingValue));
  return stack(padded, batchFirst ? 0 : 1);
}

/** Options of {@link packSequence}. */
export type PackSequenceOptions = Pick<PackPaddedSequenceOptions, 'enforceSorted'>;

/** Packs sequences [Lᵢ, …] (torch.nn.utils.rnn.pack_sequence); see {@link padSequence} for compilation. */
export function packSequence(
  ...given: Call<
    [sequences: readonly Tensor[], options?: PackSequenceOptions | undefined],
    'nn.utils.rnn.packSequence'
  >
): PackedSequence {
  const [sequences, options] = arranged('nn.utils.rnn.packSequence', given);
  const lengths = sequences.map(({ shape }) => shape[0]);
  return packPaddedSequence(padSequence(sequences), lengths, options);
}

/** The lengths as an input of a graph, int64 [N]. */
export function lengthsOf({ lengths }: PackedSequence): Tensor {
  return tensor(BigInt64Array.from(lengths, BigInt));
}

/** [L, N, 1…], bool: true where a step exists. */
function existing(lengths: Tensor, [steps, , ...rest]: readonly number[]): Tensor {
  const ones = rest.map(() => 1);
  const step = tensor(
    BigInt64Array.from({ length: steps }, (_, index) => BigInt(index)),
    [steps, 1, ...ones],
  );
  return lengths.view(1, lengths.shape[0], ...ones).gt(step);
}

/** [L, …] cut or padded to `total` steps. */
function resized(padded: Tensor, total: number, paddingValue: number): Tensor {
  const [steps, ...rest] = padded.shape;
  if (steps >= total) return steps === total ? padded : padded.slice(0, 0, total);
  return cat([padded, full([total - steps, ...rest], paddingValue, { dtype: padded.dtype })]);
}

function numbersOf(lengths: readonly number[] | Tensor): number[] {
  if (!(lengths instanceof Tensor)) return [...lengths];
  const elements = lengths.elements();
  if (elements === undefined || lengths.dtype !== 'int64') {
    throw new ArgumentError(
      `packPaddedSequence: expected lengths as numbers or as an int64 tensor made by tensor(…), got ${describeType(lengths)}${elements === undefined ? ', the result of an operation' : ''}. Pass an array.`,
    );
  }
  return Array.from(elements as ArrayLike<bigint>, Number);
}

/** A loop, because a call accepts at most about 125,000 arguments. */
function longestOf(lengths: readonly number[]): number {
  return lengths.reduce((longest, length) => Math.max(longest, length), 0);
}
