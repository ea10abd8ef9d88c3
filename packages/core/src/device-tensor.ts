import type { DType, TypedArray } from './dtype.ts';
import { bytesPerElement } from './dtype.ts';
import { InvalidArgumentError } from './errors.ts';
import { timeoutOption, type CollectiveOptions } from './timeout-option.ts';
import { requireOptions } from './require-options.ts';

/** An allocation on a GPU, as the addon provides it. */
export interface DeviceMemory {
  /** The CUdeviceptr. Only the GPU can dereference it. */
  readonly address: bigint;
  /** Size in bytes; 0 after `free`. */
  readonly bytes: number;
  /** Frees the memory after waiting for the GPU, unless another library owns it. Garbage collection does the same. */
  free(): void;
}

/** Copies between the GPU and host memory, run by the tensor's group. */
export interface DeviceCopies {
  /** Copies `from` into `tensor`, which has the same dtype and length. */
  toDevice(tensor: DeviceTensor, from: TypedArray, options: CollectiveOptions): Promise<void>;
  /** Copies `tensor` into `to`, which has the same dtype and length. */
  toHost(tensor: DeviceTensor, to: TypedArray, options: CollectiveOptions): Promise<void>;
}

/**
 * A one-dimensional tensor on a GPU (torch: `device='cuda'`). Groups with backend nccl accept it in place of a typed
 * array and use its memory directly. `NcclGroup.allocate` creates one; `NcclGroup.wrap` creates one over another
 * library's memory.
 */
export class DeviceTensor {
  /** Element type. */
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  /** Offset of the first element in `deviceMemory`, in bytes. */
  readonly byteOffset: number;
  /** The allocation that holds the elements; for the addon. */
  readonly deviceMemory: DeviceMemory;
  readonly #copies: DeviceCopies;

  constructor(
    copies: DeviceCopies,
    deviceMemory: DeviceMemory,
    place: { dtype: DType; length: number; byteOffset: number },
  ) {
    this.#copies = copies;
    this.deviceMemory = deviceMemory;
    this.dtype = place.dtype;
    this.length = place.length;
    this.byteOffset = place.byteOffset;
  }

  /** Size of the elements in bytes. */
  get byteLength(): number {
    return this.length * bytesPerElement[this.dtype];
  }

  /** Address of the first element (a CUdeviceptr), for other libraries. Only the GPU can dereference it. */
  get address(): bigint {
    return this.deviceMemory.address + BigInt(this.byteOffset);
  }

  /**
   * Returns the elements from `begin` up to `end`, in the same memory. Negative indices count from the end, as in
   * `TypedArray.subarray`.
   */
  subarray(begin = 0, end = this.length): DeviceTensor {
    const from = placeIn(this.length, begin);
    const length = Math.max(placeIn(this.length, end) - from, 0);
    const byteOffset = this.byteOffset + from * bytesPerElement[this.dtype];
    return new DeviceTensor(this.#copies, this.deviceMemory, { dtype: this.dtype, length, byteOffset });
  }

  /**
   * Copies `array`, which has the same dtype and length, into this tensor, after the group's earlier operations.
   * Resolves when the copy is complete and does not block the event loop. Arrays from the group's `allocateSync` are
   * copied by the GPU directly.
   *
   * @throws InvalidArgumentError for another dtype or length; the errors of the group's operations.
   */
  async copyFromHost(array: TypedArray, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('copyFromHost', options, timeoutOption);
    await this.#copies.toDevice(this, array, options);
  }

  /** Copies this tensor into `array`. Otherwise the same as `copyFromHost`. */
  async copyToHost(array: TypedArray, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('copyToHost', options, timeoutOption);
    await this.#copies.toHost(this, array, options);
  }

  /**
   * Frees the memory, for all tensors that share it, after waiting for the GPU. Garbage collection does the same later.
   * Memory of another library is not freed.
   */
  free(): void {
    this.deviceMemory.free();
  }
}

/** The buffers that collectives accept: typed arrays in host memory and, with backend nccl, tensors on a GPU. */
export type CollectiveBuffer = TypedArray | DeviceTensor;

/**
 * @throws InvalidArgumentError if the lengths differ.
 * @internal
 */
export function checkAsLong(tensor: DeviceTensor, array: TypedArray): void {
  if (tensor.length === array.length) return;
  throw new InvalidArgumentError(
    `array has ${array.length} elements, expected ${tensor.length}, the tensor's length. Use subarray to copy a part`,
  );
}

function placeIn(length: number, index: number): number {
  const place = index < 0 ? length + index : index;
  return Math.min(Math.max(Math.trunc(place), 0), length);
}
