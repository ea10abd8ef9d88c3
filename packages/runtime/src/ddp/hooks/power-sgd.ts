import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { CommHook, GradientBucket, OptionNames } from '@ringrun/core';
import { mersenne } from 'pure-rand/generator/mersenne';
import { inBothForms, type HookSteps } from './comm-hook.ts';
import { multiply, multiplyByTransposed, multiplyTransposed, orthogonalize, type Matrix } from './matrix.ts';

/** Names and defaults are those of torch's PowerSGDState. They must be the same on every rank. */
export interface PowerSgdOptions {
  /** Rank r of the approximation. A higher r is more accurate and sends r times the bytes. Default: 1. */
  matrixApproximationRank?: number;
  /**
   * Number of initial steps that are averaged exactly, because gradients change fast at first. Default:
   * 1,000.
   */
  startPowerSgdIter?: number;
  /** A gradient is compressed only if that makes it smaller by more than this factor. Default: 2. */
  minCompressionRate?: number;
  /** Add the approximation error of a step to the next step's gradient. Default: `true`. */
  useErrorFeedback?: boolean;
  /** Start each approximation from the previous step's factors. Default: `true`. */
  warmStart?: boolean;
  /** Seed of the initial factors. Default: 0. */
  randomSeed?: number;
}

const optionNames: OptionNames<PowerSgdOptions> = {
  matrixApproximationRank: true,
  startPowerSgdIter: true,
  minCompressionRate: true,
  useErrorFeedback: true,
  warmStart: true,
  randomSeed: true,
};

type Settings = Required<PowerSgdOptions>;
type Average = Parameters<HookSteps>[2];

/**
 * Averages gradients as products of two thin matrices (PowerSGD, Vogels et al. 2019; torch: powerSGD_hook). A
 * gradient of shape [n, …] is a matrix M [n, m], for which (n + m)·r numbers are sent instead of n·m: P =
 * M·Q, averaged and orthonormalized; Q = Mᵀ·P, averaged; the result is P·Qᵀ, one step of power iteration
 * towards the r largest singular vectors of the average. Gradients that would not shrink by
 * `minCompressionRate`, such as those of biases, are averaged exactly.
 *
 * Products are computed in JavaScript, about 3·r·n·m multiplications per gradient, so use it only if the
 * network is the bottleneck. Create one hook per model.
 *
 * @throws InvalidArgumentError for an option out of range
 */
export function powerSgd(options: PowerSgdOptions = {}): CommHook {
  const settings = checkedSettings(options);
  const states = new WeakMap<Float32Array, BucketState>();
  return inBothForms((bucket, _, average) => {
    const state = states.get(bucket.data) ?? new BucketState(bucket, settings);
    states.set(bucket.data, state);
    return state.steps(bucket, average);
  });
}

/** The gradients of one bucket, and the state kept between steps. */
class BucketState {
  readonly #settings: Settings;
  readonly #matrices: readonly Approximation[];
  /** Gradients that are averaged exactly. */
  readonly #others: readonly Float32Array[];
  readonly #packedOthers: Float32Array;
  /** All P concatenated, and all Q, so that each is one all-reduce. */
  readonly #ps: Float32Array;
  readonly #qs: Float32Array;
  readonly #random: () => number;
  #steps = 0;
  #hasFactors = false;

  constructor(bucket: GradientBucket, settings: Settings) {
    this.#settings = settings;
    const all = bucket.gradients().map((data, i) => matrixOf(data, bucket.parameters[i].shape));
    const compressed = all.filter((matrix) => isWorthCompressing(matrix, settings));
    this.#others = all.filter((matrix) => !compressed.includes(matrix)).map(({ data }) => data);
    this.#packedOthers = new Float32Array(this.#others.reduce((sum, { length }) => sum + length, 0));
    const ranks = compressed.map((matrix) => rankOf(matrix, settings));
    this.#ps = new Float32Array(compressed.reduce((sum, { rows }, i) => sum + rows * ranks[i], 0));
    this.#qs = new Float32Array(compressed.reduce((sum, { columns }, i) => sum + columns * ranks[i], 0));
    this.#matrices = approximationsOver(compressed, ranks, this.#ps, this.#qs);
    // The random numbers must be the same on every rank; their values hardly matter.
    const generator = mersenne((settings.randomSeed + bucket.index) % 2 ** 32);
    this.#random = () => generator.next() / 2 ** 31;
  }

  *steps({ data }: GradientBucket, average: Average): ReturnType<HookSteps> {
    this.#steps += 1;
    if (this.#steps <= this.#settings.startPowerSgdIter) {
      yield average(data);
      return;
    }
    // Skipping an empty exchange is safe: buckets are the same on every rank.
    const averageAny: Average = (values) => (values.length > 0 ? average(values) : undefined);
    this.#chooseDirections();
    for (const { matrix, error, p, q } of this.#matrices) {
      if (this.#settings.useErrorFeedback) add(error, matrix.data);
      error.set(matrix.data);
      multiply(matrix, q, p);
    }
    this.#packOthers();
    yield Promise.all([averageAny(this.#packedOthers), averageAny(this.#ps)]);
    this.#unpackOthers();
    for (const { matrix, p, q } of this.#matrices) {
      orthogonalize(p);
      multiplyTransposed(matrix, p, q);
    }
    yield averageAny(this.#qs);
    for (const { matrix, error, p, q } of this.#matrices) {
      multiplyByTransposed(p, q, matrix);
      subtract(matrix.data, error);
    }
  }

  /** A column without gradient becomes 0 and would stay 0, so it is filled with new random numbers. */
  #chooseDirections(): void {
    const draw = (values: Float32Array | Float64Array) => {
      for (let i = 0; i < values.length; i += 1) values[i] = this.#random();
    };
    if (!this.#hasFactors || !this.#settings.warmStart) draw(this.#qs);
    this.#hasFactors = true;
    for (const { q } of this.#matrices) orthogonalize(q, draw);
  }

  #packOthers(): void {
    let offset = 0;
    for (const data of this.#others) {
      this.#packedOthers.set(data, offset);
      offset += data.length;
    }
  }

  #unpackOthers(): void {
    let offset = 0;
    for (const data of this.#others) {
      data.set(this.#packedOthers.subarray(offset, offset + data.length));
      offset += data.length;
    }
  }
}

/** A gradient and its factors. */
interface Approximation {
  readonly matrix: Matrix;
  /** The approximation error of this rank's gradient in the last step. */
  readonly error: Float32Array;
  readonly p: Matrix;
  readonly q: Matrix;
}

function approximationsOver(
  matrices: readonly Matrix[],
  ranks: readonly number[],
  ps: Float32Array,
  qs: Float32Array,
): Approximation[] {
  const place = { p: 0, q: 0 };
  const take = (from: Float32Array, of: 'p' | 'q', rows: number, columns: number): Matrix => {
    const start = place[of];
    place[of] += rows * columns;
    return { rows, columns, data: from.subarray(start, place[of]) };
  };
  return matrices.map((matrix, i) => ({
    matrix,
    error: new Float32Array(matrix.data.length),
    p: take(ps, 'p', matrix.rows, ranks[i]),
    q: take(qs, 'q', matrix.columns, ranks[i]),
  }));
}

function matrixOf(data: Float32Array, shape: readonly number[]): Matrix {
  const rows = shape.length === 0 || data.length === 0 ? data.length : shape[0];
  return { rows, columns: rows === 0 ? 0 : data.length / rows, data };
}

function rankOf({ rows, columns }: Matrix, { matrixApproximationRank }: Settings): number {
  return Math.min(rows, columns, matrixApproximationRank);
}

function isWorthCompressing(matrix: Matrix, settings: Settings): boolean {
  const { rows, columns } = matrix;
  return (rows + columns) * rankOf(matrix, settings) * settings.minCompressionRate < rows * columns;
}

function checkedSettings(options: PowerSgdOptions): Settings {
  requireOptions('powerSgd', options, optionNames);
  const settings: Settings = {
    matrixApproximationRank: 1,
    startPowerSgdIter: 1000,
    minCompressionRate: 2,
    useErrorFeedback: true,
    warmStart: true,
    randomSeed: 0,
    ...options,
  };
  const { matrixApproximationRank, startPowerSgdIter, minCompressionRate, randomSeed } = settings;
  const least = { matrixApproximationRank: 1, startPowerSgdIter: 0, randomSeed: 0 };
  for (const [name, value] of Object.entries({ matrixApproximationRank, startPowerSgdIter, randomSeed })) {
    const lowest = least[name as keyof typeof least];
    if (!Number.isSafeInteger(value) || value < lowest) {
      throw new InvalidArgumentError(
        `powerSgd: ${name}: expected an integer of at least ${lowest}, got ${value}.`,
      );
    }
  }
  if (!(minCompressionRate > 0)) {
    throw new InvalidArgumentError(
      `powerSgd: minCompressionRate: expected a number above 0, got ${minCompressionRate}.`,
    );
  }
  return settings;
}

function add(what: Float32Array, to: Float32Array): void {
  for (let i = 0; i < to.length; i += 1) to[i] += what[i];
}

function subtract(what: Float32Array, from: Float32Array): void {
  for (let i = 0; i < from.length; i += 1) from[i] -= what[i];
}
