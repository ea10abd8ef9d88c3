import type { TensorData } from '../dtype.ts';
import type { ValueType } from '../value-type.ts';
import type { DeviceCollectives } from './device-collectives.ts';
import type { ValueBuffer } from './value-buffer.ts';

/**
 * The memory of an executor. Elements are row-major, in the array that `dtype.ts` has for the type: those of bfloat16 in float32.
 */
export interface ValueMemory {
  /**
   * Allocates an output of one run, with arbitrary elements. `download` or `move` consumes it after the run. After a run that fails,
   * neither is called: free it when it is no longer referenced.
   */
  allocate(type: ValueType): ValueBuffer;
  /**
   * Allocates an output of one run that perhaps nothing reads, with arbitrary elements, for `read`. It is freed when it is no longer
   * referenced.
   */
  reserve(type: ValueType): ValueBuffer;
  /**
   * Returns an input of one run, or of one later run, with the elements of an array at this time. Freed when the run has ended, even
   * if it failed. On the host it is the array itself.
   */
  upload(array: TensorData): ValueBuffer;
  /** Returns the elements of an output of `allocate`, after the run, and frees it. On the host it returns them at once. */
  download(output: ValueBuffer): TensorData | Promise<TensorData>;
  /** Copies outputs of `allocate` into buffers of their sizes, after the run, and frees them. */
  move(outputs: readonly (readonly [output: ValueBuffer, to: ValueBuffer])[]): void;
  /**
   * Returns a buffer with the elements of an array, for any number of runs. It is freed when it is no longer referenced.
   * On the host it is the array itself, so later changes of the array are visible in the buffer.
   */
  keep(array: TensorData): ValueBuffer;
  /** Copies an array into a buffer of `keep`, for the next run. Nothing is copied if the buffer is the array. */
  write(buffer: ValueBuffer, array: TensorData): void;
  /** Copies a buffer of `keep` or `reserve` into an array. Blocks until the buffer has been written by the run that writes it. */
  read(buffer: ValueBuffer, array: TensorData): void;
  /** True if buffers are arrays of the host: then native operations may use them where a run has written them. */
  readonly usesHostMemory: boolean;
  /** Undefined if groups cannot use buffers where they are, except on the host. */
  readonly collectives?: DeviceCollectives;
}
