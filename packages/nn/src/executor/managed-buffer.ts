import { onnxruntimeExecutor } from './onnxruntime.ts';
import type { ValueBuffer } from './value-buffer.ts';

/**
 * Elements that both runs and code on the host read and write, such as those of a parameter: a buffer of the executor, and
 * an array of the host. They are copied to the side that needs them, like CUDA managed memory. On the host, the buffer is
 * the array, and nothing is copied.
 */
export class ManagedBuffer {
  readonly #array: Float32Array;
  /** The buffer of which this one is a part. */
  readonly #whole: ManagedBuffer | undefined;
  #buffer: ValueBuffer | undefined;
  /** A run may have written the buffer since it was copied to the array. */
  #isBufferNewer = false;
  /** Code on the host may have written the array since it was copied to the buffer. */
  #isArrayNewer = false;

  /** @param array has the elements; it is not copied */
  constructor(array: Float32Array, whole?: ManagedBuffer) {
    this.#array = array;
    this.#whole = whole;
  }

  /** Number of elements. */
  get length(): number {
    return this.#array.length;
  }

  /** The same object for buffers with the same array. */
  get identity(): object {
    return this.#array;
  }

  /** For code on the host, which may write it before the next run. On other devices, a run does not change it: read it again. */
  get array(): Float32Array {
    this.toHost();
    return this.#array;
  }

  /** Copies the elements to the array, which may then be written until the next run. */
  toHost(): void {
    if (this.#isBufferNewer) onnxruntimeExecutor.read(this.#buffer!, this.#array);
    this.#isBufferNewer = false;
    this.#isArrayNewer = true;
  }

  /** For a run that reads the elements. */
  forReading(): ValueBuffer {
    if (this.#whole) this.#takeFrom(this.#whole);
    if (this.#buffer === undefined) this.#buffer = onnxruntimeExecutor.keep(this.#array);
    else if (this.#isArrayNewer) onnxruntimeExecutor.write(this.#buffer, this.#array);
    this.#isArrayNewer = false;
    return this.#buffer;
  }

  /** For a run that writes all elements. If it also reads them, call `forReading` first. */
  forWriting(): ValueBuffer {
    this.#buffer ??= onnxruntimeExecutor.keep(this.#array);
    this.#isArrayNewer = false;
    this.#isBufferNewer = true;
    return this.#buffer;
  }

  /** Elements `begin` to `end - 1`. After a run has written them, call the part's `toHost`. */
  part(begin: number, end: number): ManagedBuffer {
    return new ManagedBuffer(this.#array.subarray(begin, end), this);
  }

  #takeFrom(whole: ManagedBuffer): void {
    whole.toHost();
    this.#isBufferNewer = false;
    this.#isArrayNewer = true;
  }
}
