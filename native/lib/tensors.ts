/**
 * Typed arrays of the dtypes. Functions also need the dtype number, because float16 and bfloat16 share an array class
 * here. They throw a TypeError if the element size does not match.
 */
export type NativeTensor =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Uint16Array
  | NativeFloat16Array;

/** The parts of JavaScript's own Float16Array (Node ≥ 24) that ringrun needs, for TypeScript versions without it. */
export interface NativeFloat16Array extends ArrayBufferView {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly length: number;
  subarray(begin?: number, end?: number): NativeFloat16Array;
}

/** `length` elements on a GPU, `byteOffset` bytes into `deviceMemory`. Only for groups that have joined NCCL. */
export interface NativeDeviceTensor {
  readonly deviceMemory: NativeDeviceMemory;
  readonly byteOffset: number;
  readonly length: number;
}

/** A tensor in host or GPU memory. */
export type NativePlacedTensor = NativeTensor | NativeDeviceTensor;

/** Memory on a GPU. */
export interface NativeDeviceMemory {
  /** The CUdeviceptr. Only the GPU can dereference it. */
  readonly address: bigint;
  /** Size in bytes; 0 after `free`. */
  readonly bytes: number;
  /** Frees the memory after waiting for the GPU, unless another library owns it. Garbage collection does the same. */
  free(): void;
}

/** Memory that the ranks of a host share. */
export interface NativeHostMemory {
  readonly buffer: ArrayBuffer;
  /** Index of this rank among the ranks of its host, in the order of their ranks. */
  readonly place: number;
  /** Number of ranks of the host. */
  readonly ranks: number;
}
