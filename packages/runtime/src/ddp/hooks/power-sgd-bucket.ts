import type { DistributedParameter, GradientBucket } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import { mersenne } from 'pure-rand/generator/mersenne';
import { allEnded } from '../all-ended.ts';
import type { HookSteps } from './comm-hook.ts';

/** Options of `powerSgd` with their defaults. */
export interface PowerSgdSettings {
  readonly matrixApproximationRank: number;
  readonly startPowerSgdIter: number;
  readonly minCompressionRate: number;
  readonly useErrorFeedback: boolean;
  readonly warmStart: boolean;
  readonly randomSeed: number;
}

type Average = Parameters<HookSteps>[2];

/** A gradient as a matrix M, row-major, of which `compressed` ones are averaged as M ≈ P·Qᵀ of this rank. */
interface Matrix {
  /** Position in the bucket. */
  readonly position: number;
  readonly rows: number;
  readonly columns: number;
  readonly rank: number;
}

/** Where the arrays of a compressed gradient begin in those of its bucket. */
interface Compressed extends Matrix {
  readonly p: Float32Array;
  readonly q: Float32Array;
  readonly errorsAt: number;
}

const empty = new Float32Array();

/** The gradients of one bucket, and the state kept between steps. */
export class PowerSgdBucket {
  readonly parameters: readonly DistributedParameter[];
  readonly #settings: PowerSgdSettings;
  readonly #index: number;
  readonly #compressed: readonly Compressed[];
  /** Positions of the gradients that are averaged exactly. */
  readonly #others: readonly number[];
  readonly #packedOthers: Float32Array;
  /** All P concatenated, and all Q, so that each is one all-reduce. */
  readonly #ps: Float32Array;
  readonly #qs: Float32Array;
  /** Number of elements of the compressed gradients. */
  readonly #compressedLength: number;
  /** The approximation errors of this rank's gradients in the last step, concatenated. */
  #errors = empty;
  #iterations = 0;
  #hasFactors = false;

  constructor(bucket: GradientBucket, settings: PowerSgdSettings) {
    const { index, parameters } = bucket;
    this.parameters = parameters;
    this.#settings = settings;
    this.#index = index;
    const lengths = bucket.gradients().map(({ length }) => length);
    const all = parameters.map(({ shape }, i) => matrixOf(i, lengths[i], shape, settings));
    const compressed = all.filter((matrix) => isWorthCompressing(matrix, settings));
    this.#others = all.filter((matrix) => !compressed.includes(matrix)).map(({ position }) => position);
    this.#packedOthers = new Float32Array(sumOf(this.#others.map((position) => lengths[position])));
    this.#ps = new Float32Array(sumOf(compressed.map(({ rows, rank }) => rows * rank)));
    this.#qs = new Float32Array(sumOf(compressed.map(({ columns, rank }) => columns * rank)));
    this.#compressedLength = sumOf(compressed.map(({ rows, columns }) => rows * columns));
    const at = { p: 0, q: 0, errors: 0 };
    this.#compressed = compressed.map((matrix) => {
      const { rows, columns, rank } = matrix;
      const begin = { ...at };
      at.p += rows * rank;
      at.q += columns * rank;
      at.errors += rows * columns;
      const [p, q] = [this.#ps.subarray(begin.p, at.p), this.#qs.subarray(begin.q, at.q)];
      return { ...matrix, p, q, errorsAt: begin.errors };
    });
  }

  /** `factors`: all Q, not copied; empty before the first compressed step. */
  get shared(): { iterations: number; factors: Float32Array } {
    return { iterations: this.#iterations, factors: this.#hasFactors ? this.#qs : empty };
  }

  set shared({ iterations, factors }: { iterations: number; factors: Float32Array }) {
    this.#iterations = iterations;
    this.#hasFactors = factors.length > 0;
    if (this.#hasFactors) this.#qs.set(factors);
  }

  /** Not copied; empty, which is 0, before the first compressed step. */
  get errors(): Float32Array {
    return this.#errors;
  }

  set errors(errors: Float32Array) {
    this.#errors = errors.slice();
  }

  /** Why this bucket cannot load the array; undefined if it can. */
  problemOf(name: 'factors' | 'errors', { length }: Float32Array): string | undefined {
    const expected = name === 'factors' ? this.#qs.length : this.#compressedLength;
    if (length === 0 || length === expected) return undefined;
    return `${expected} numbers in ${name}, got ${length}`;
  }

  *steps(bucket: GradientBucket, average: Average): ReturnType<HookSteps> {
    this.#iterations += 1;
    if (this.#iterations <= this.#settings.startPowerSgdIter) {
      yield average(bucket.data);
      return;
    }
    const native = loadNative();
    const matrices = bucket.gradients();
    const errors = this.#beginErrors();
    // Skipping an empty exchange is safe: buckets are the same on every rank.
    const averageAny: Average = (values) => (values.length > 0 ? average(values) : undefined);
    this.#chooseDirections();
    for (const [i, { position, p, q, rank }] of this.#compressed.entries()) {
      native.leftFactor(matrices[position], errors?.[i], q, p, rank);
    }
    this.#packOthers(matrices);
    yield allEnded([averageAny(this.#packedOthers), averageAny(this.#ps)]);
    this.#unpackOthers(matrices);
    for (const [i, { position, p, q, rank }] of this.#compressed.entries()) {
      native.orthonormalize(p, rank);
      native.rightFactor(errors?.[i] ?? matrices[position], p, q, rank);
    }
    yield averageAny(this.#qs);
    for (const [i, { position, p, q, rank }] of this.#compressed.entries()) {
      native.productOfFactors(p, q, matrices[position], errors?.[i], rank);
    }
  }

  /** The error of each compressed gradient; undefined without error feedback. */
  #beginErrors(): Float32Array[] | undefined {
    if (!this.#settings.useErrorFeedback) return undefined;
    if (this.#errors.length === 0) this.#errors = new Float32Array(this.#compressedLength);
    return this.#compressed.map(({ errorsAt, rows, columns }) =>
      this.#errors.subarray(errorsAt, errorsAt + rows * columns),
    );
  }

  /** A column without gradient becomes 0 and would stay 0, so it is filled with random numbers. */
  #chooseDirections(): void {
    // The random numbers must be the same on every rank; their values hardly matter.
    const { randomSeed, warmStart } = this.#settings;
    const generator = mersenne(((randomSeed % 2 ** 32) + this.#index + 65_537 * this.#iterations) % 2 ** 32);
    const random = () => generator.next() / 2 ** 31;
    if (!this.#hasFactors || !warmStart) for (let i = 0; i < this.#qs.length; i += 1) this.#qs[i] = random();
    this.#hasFactors = true;
    const native = loadNative();
    for (const { q, rank } of this.#compressed) {
      const dependent = native.orthonormalize(q, rank);
      if (dependent.length === 0) continue;
      for (const column of dependent) for (let i = column; i < q.length; i += rank) q[i] = random();
      native.orthonormalize(q, rank);
    }
  }

  #packOthers(gradients: readonly Float32Array[]): void {
    let offset = 0;
    for (const position of this.#others) {
      this.#packedOthers.set(gradients[position], offset);
      offset += gradients[position].length;
    }
  }

  #unpackOthers(gradients: readonly Float32Array[]): void {
    let offset = 0;
    for (const position of this.#others) {
      const data = gradients[position];
      data.set(this.#packedOthers.subarray(offset, offset + data.length));
      offset += data.length;
    }
  }
}

function matrixOf(
  position: number,
  length: number,
  shape: readonly number[],
  { matrixApproximationRank }: PowerSgdSettings,
): Matrix {
  const rows = shape.length === 0 || length === 0 ? length : shape[0];
  const columns = rows === 0 ? 0 : length / rows;
  return { position, rows, columns, rank: Math.min(rows, columns, matrixApproximationRank) };
}

function isWorthCompressing({ rows, columns, rank }: Matrix, settings: PowerSgdSettings): boolean {
  return (rows + columns) * rank * settings.minCompressionRate < rows * columns;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
