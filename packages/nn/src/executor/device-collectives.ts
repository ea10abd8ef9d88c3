import type { GpuGroup } from '@ringrun/core';
import type { CollectiveGroup } from '../graph/attributes.ts';
import type { ValueBuffer } from './value-buffer.ts';

/** Gradients that lie side by side on a device, and numbers of the host behind them: one collective averages all. */
export interface GradientBucket {
  /** The buffers of the gradients. */
  readonly buffers: readonly ValueBuffer[];
  /** Sets the numbers that this rank contributes to each average from now on. */
  setTail(numbers: Float32Array): void;
  /** Copies their last average to an array. */
  readTail(numbers: Float32Array): Promise<void>;
}

/** Collectives of a process group between devices, without copies on the host. */
export interface DeviceCollectives {
  /** The group, if its collectives can use the memory of this device. */
  groupOf(group: CollectiveGroup | GpuGroup): GpuGroup | undefined;
  /**
   * Allocates a bucket.
   *
   * @param lengths of the gradients, in elements
   * @param tail count of the numbers of the host
   */
  allocateBucket(lengths: readonly number[], tail: number): GradientBucket;
  /** Averages buckets over the ranks, after all earlier work of the device. One operation of the group. */
  average(group: GpuGroup, buckets: readonly GradientBucket[]): Promise<void>;
}
