import type { NativeDeviceMemory } from '@ringrun/native';

import type { DType, TypedArray } from './dtype.ts';
import { bytesPerElement } from './dtype.ts';
import { InvalidArgumentError } from './errors.ts';
import { timeoutOption, type CollectiveOptions } from './options.ts';
import { requireOptions } from './require-options.ts';

/** How a tensor's elements travel between the GPU and this host: what its group does for it. */
export interface DeviceCopies {
  toDevice(tensor: DeviceTensor, from: TypedArray, options: CollectiveOptions): Promise<void>;
  toHost(tensor: DeviceTensor, to: TypedArray, options: CollectiveOptions): Promise<void>;
}

/**
 * Elements on a GPU (torch: a tensor with `device='cuda'`), in one dimension: what groups of the backend nccl take beside typed arrays, and use where it lies.
 * Made by `NcclGroup.allocate`, or by `NcclGroup.wrap` for memory of another library.
 */
export class DeviceTensor {
  readonly dtype: DType;
  /** Elements. */
  readonly length: number;
  /** Of the first element in `deviceMemory`. */
  readonly byteOffset: number;
  /** For the addon. */
  readonly deviceMemory: NativeDeviceMemory;
  readonly #copies: DeviceCopies;

  constructor(
    copies: DeviceCopies,
    deviceMemory: NativeDeviceMemory,
    place: { dtype: DType; length: number; byteOffset: number },
  ) {
    this.#copies = copies;
    this.deviceMemory = deviceMemory;
    this.dtype = place.dtype;
    this.length = place.length;
    this.byteOffset = place.byteOffset;
  }

  get byteLength(): number {
    return this.length * bytesPerElement[this.dtype];
  }

  /** Where the first element lies: a CUdeviceptr, for other libraries. Only the GPU may use it. */
  get address(): bigint {
    return this.deviceMemory.address + BigInt(this.byteOffset);
  }

  /** The elements from `begin` up to `end`, in the same memory; negative numbers count from the end, as those of `TypedArray.subarray`. */
  subarray(begin = 0, end = this.length): DeviceTensor {
    const from = placeIn(this.length, begin);
    const length = Math.max(placeIn(this.length, end) - from, 0);
    const byteOffset = this.byteOffset + from * bytesPerElement[this.dtype];
    return new DeviceTensor(this.#copies, this.deviceMemory, { dtype: this.dtype, length, byteOffset });
  }

  /**
   * The elements become those of `array`, which has the same dtype and length, after what was called on the group before. Resolves when they are there; the
   * event loop is free meanwhile. From an array of the group's `allocateSync` the GPU copies by itself.
   *
   * @throws InvalidArgumentError for another dtype or length; errors of the group's operations.
   */
  async copyFromHost(array: TypedArray, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('copyFromHost', options, timeoutOption);
    await this.#copies.toDevice(this, array, options);
  }

  /** `array`'s elements become these; the rest is as of `copyFromHost`. */
  async copyToHost(array: TypedArray, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('copyToHost', options, timeoutOption);
    await this.#copies.toHost(this, array, options);
  }

  /** Gives the memory back, of all tensors that share it; waits for the GPU. Without it, garbage collection does. Memory of another library stays. */
  free(): void {
    this.deviceMemory.free();
  }
}

/** What collectives take: arrays of this host, and, in groups of the backend nccl, of a GPU. */
export type Tensor = TypedArray | DeviceTensor;

/** @throws InvalidArgumentError unless both have one length. */
export function checkAsLong(tensor: DeviceTensor, array: TypedArray): void {
  if (tensor.length === array.length) return;
  throw new InvalidArgumentError(
    `array has ${array.length} elements, expected ${tensor.length}, as many as the tensor has: copy to or from a part of either with subarray`,
  );
}

function placeIn(length: number, index: number): number {
  const place = index < 0 ? length + index : index;
  return Math.min(Math.max(Math.trunc(place), 0), length);
}
