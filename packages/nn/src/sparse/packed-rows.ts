import type { GradientRows } from '@ringrun/core';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import { sumRows, unionOf } from './merge-rows.ts';
import { SparseGradient } from './sparse-gradient.ts';

/** Words before the indices; the number of words of the indices is a multiple of it. */
const header = 16;

function indexWords(capacity: number): number {
  return Math.ceil(capacity / header) * header;
}

/**
 * Number of floats of packed rows: a header with the count and the capacity, int32 indices, and the values [capacity, width].
 * native/src/operators/packed_rows.h has the same layout.
 */
export function packedLength(capacity: number, width: number): number {
  return header + indexWords(capacity) + capacity * width;
}

/** The rows of a table that have a gradient, in one buffer, which a program writes. */
export class PackedRows implements GradientRows {
  readonly memory: ManagedBuffer;
  /** Number of rows for which there is room. */
  readonly capacity: number;
  /** Shape of the table. */
  readonly shape: readonly [count: number, width: number];

  /** No rows, with room for some. */
  constructor(shape: readonly [count: number, width: number], capacity: number) {
    this.shape = shape;
    this.capacity = capacity;
    const array = new Float32Array(packedLength(capacity, shape[1]));
    wordsOf(array)[1] = capacity;
    this.memory = new ManagedBuffer(array);
  }

  get count(): number {
    return wordsOf(this.memory.array)[0];
  }

  /** Sets the number of rows, whose indices and values are then written to `indices` and `values`. */
  set count(count: number) {
    wordsOf(this.memory.array)[0] = count;
  }

  /** In increasing order, without duplicates. */
  get indices(): Int32Array {
    return wordsOf(this.memory.array).subarray(header, header + this.count);
  }

  /** [count, width] */
  get values(): Float32Array {
    const begin = header + indexWords(this.capacity);
    return this.memory.array.subarray(begin, begin + this.count * this.shape[1]);
  }

  /** What a user reads as the gradient. */
  get gradient(): SparseGradient {
    return new SparseGradient(this.indices, this.values, this.shape);
  }
}

/** The sums of rows of one table, in the order of the parts, divided by a number. Default: 1. */
export function mergedRows(
  shape: readonly [count: number, width: number],
  parts: readonly GradientRows[],
  divisor = 1,
): PackedRows {
  const indices = parts.map((part) => part.indices).reduce(unionOf, new Int32Array(0));
  // Powers of 2, so that updates of different numbers of rows share few programs.
  const merged = new PackedRows(shape, 2 ** Math.ceil(Math.log2(Math.max(header, indices.length))));
  merged.count = indices.length;
  merged.indices.set(indices);
  sumRows(parts, divisor, indices, merged.values);
  return merged;
}

function wordsOf({ buffer, byteOffset, length }: Float32Array): Int32Array {
  return new Int32Array(buffer, byteOffset, length);
}
