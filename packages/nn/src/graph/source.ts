import type { DistributedParameter } from '@ringrun/core';
import type { TensorData } from '../dtype.ts';
import type { Device } from '../executor/device.ts';
import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { PackedRows } from '../sparse/packed-rows.ts';

/** The elements of a leaf when a graph runs. Graphs that differ only in their sources share one program. */
export interface Source {
  /** Reading it may block until elements have been received from another rank (see `arrived`). */
  readonly data: TensorData;
  /** The elements in the memory of an executor, for one run; may block like `data`. Default: a copy of `data`. */
  bufferIn?(memory: ValueMemory): ValueBuffer;
  /** The elements of `data` and `bufferIn`, without blocking; may be outdated. Default: `data`. */
  readonly memory?: ManagedBuffer;
  /** Where graphs that read it run. Default: where the graph's other leaves were moved, else the default device. */
  readonly device?: Device | undefined;
  /** Resolves when pending elements have been received; undefined if none are pending. Await it before a run, because `data` blocks. */
  arrived?(): Promise<void> | undefined;
  /** False while elements are being received into `memory`. Default: true. */
  readonly isAvailable?: boolean;
  /** Receives this leaf's gradient. Undefined: the leaf is not trained. */
  readonly parameter?: GradientReceiver | undefined;
  /** The parameter that has the elements, if it is frozen (`requiresGrad`). For messages. Default: undefined. */
  readonly frozen?: GradientReceiver;
  /** True if the caller owns the array and may write to it at any time, so that a run reads a copy made at the call. */
  readonly isCallers?: boolean;
}

/** The part of a parameter that a backward pass uses. `grad` has the sum of earlier passes since `zeroGrad`. */
export interface GradientReceiver extends DistributedParameter {
  /** Index of the bucket in which the gradient is averaged. Gradients of lower buckets are computed first. */
  readonly gradientBucketIndex: number;
  /** Path of the parameter in its model, such as `conv1.weight`, if known. */
  readonly path: string | undefined;
  /** Describes the parameter in messages: its path, if known, and its type. */
  describe(): string;
  /**
   * Whether `grad` is defined.
   *
   * @internal
   */
  readonly hasGradient: boolean;
  /**
   * The elements that the backward pass writes.
   *
   * @internal
   */
  readonly gradientMemory: ManagedBuffer;
  /**
   * The rows of a sparse gradient: `gradientMemory` is their memory. Undefined if the gradient is dense.
   *
   * @internal
   */
  readonly sparseGradient: PackedRows | undefined;
  /**
   * Makes the gradient sparse, with rows that replace the earlier ones, or dense.
   *
   * @internal
   */
  setSparseGradient(rows: PackedRows | undefined): void;
  /**
   * Makes `grad` defined, whose elements a device has averaged where they are.
   *
   * @internal
   */
  gradientAveraged(): void;
}
