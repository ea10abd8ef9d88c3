import type { NativeDeviceMemory, NativeGpuDevice } from '@ringrun/native';
import { newArray, type TensorData } from '../../dtype.ts';
import { NnError } from '../../errors/errors.ts';
import { inFloat32, sizeOf, type ValueType } from '../../value-type.ts';
import type { ValueBuffer } from '../value-buffer.ts';

/**
 * Elements on a GPU, or, of a small input or output of one run, on the host: until the run begins, and after it has ended.
 */
export class DeviceBuffer {
  /** Number of elements. */
  readonly length: number;
  /** The elements on the host. Those of an output arrive when its run has ended. */
  snapshot: Uint8Array | undefined;
  /** True for an input or output of one run. */
  readonly isOfOneRun: boolean;
  /** Where the elements begin in the memory. */
  readonly byteOffset: number;
  /** What `download` returns. */
  readonly #type: ValueType | undefined;
  #memory: NativeDeviceMemory | undefined;
  /** Allocates the memory on first use. */
  #allocate: (() => NativeDeviceMemory) | undefined;

  constructor(
    length: number,
    options: {
      readonly memory?: NativeDeviceMemory | undefined;
      readonly allocate?: (() => NativeDeviceMemory) | undefined;
      readonly byteOffset?: number;
      readonly snapshot?: Uint8Array;
      readonly isOfOneRun?: boolean;
      readonly type?: ValueType;
    },
  ) {
    this.length = length;
    this.snapshot = options.snapshot;
    this.isOfOneRun = options.isOfOneRun ?? false;
    this.byteOffset = options.byteOffset ?? 0;
    this.#memory = options.memory;
    this.#allocate = options.allocate;
    this.#type = options.type;
  }

  get memory(): NativeDeviceMemory {
    this.#memory ??= this.#allocate?.();
    if (this.#memory === undefined) throw freed();
    return this.#memory;
  }

  /** An array for the elements. */
  newArray(): TensorData {
    const { dtype, shape } = inFloat32(this.#type!);
    return newArray(dtype, sizeOf(shape));
  }

  /** Frees the memory after all work that was enqueued before. */
  free(): void {
    this.#memory?.free();
    this.#memory = undefined;
    this.#allocate = undefined;
  }

  /** For other code, which does not know what a buffer is. */
  get value(): ValueBuffer {
    return this as unknown as ValueBuffer;
  }
}

/** @throws NnError (ERR_EXECUTOR) if it is a buffer of another executor */
export function deviceBuffer(value: ValueBuffer): DeviceBuffer {
  const buffer: unknown = value;
  if (buffer instanceof DeviceBuffer) return buffer;
  throw new NnError(
    'ERR_EXECUTOR',
    'run: expected a buffer in the memory of the GPU, got one of another executor.',
  );
}

function freed(): NnError {
  return new NnError(
    'ERR_EXECUTOR',
    'run: expected a buffer that is not freed, got one that was used by its run.',
  );
}

/** Allocates memory for some bytes; a buffer without elements has a few. */
export function allocateBytes(device: NativeGpuDevice, bytes: number): NativeDeviceMemory {
  return device.allocate(Math.max(bytes, 16));
}
