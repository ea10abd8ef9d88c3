import type { ValueBuffer } from './value-buffer.ts';
import type { ValueMemory } from './value-memory.ts';

/**
 * Elements that both runs and code on the host read and write, such as those of a parameter: a buffer in the memory of the
 * executor that used them last, and an array of the host. They are copied to the side that needs them, like CUDA managed memory.
 * On the host, the buffer is the array, and nothing is copied.
 */
export class ManagedBuffer {
  readonly #array: Float32Array;
  /** The buffer of which this one is a part. */
  readonly #whole: ManagedBuffer | undefined;
  /** Where the buffer is. */
  #memory: ValueMemory | undefined;
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
    if (this.#isBufferNewer) this.#memory!.read(this.#buffer!, this.#array);
    this.#isBufferNewer = false;
    this.#isArrayNewer = true;
  }

  /** For a run that reads the elements in a memory. Copies them if another memory has them. */
  forReading(memory: ValueMemory): ValueBuffer {
    if (this.#whole) this.#takeFrom(this.#whole);
    if (this.#memory !== memory) return this.#moveTo(memory);
    if (this.#isArrayNewer) memory.write(this.#buffer!, this.#array);
    this.#isArrayNewer = false;
    return this.#buffer!;
  }

  /** For a run that writes all elements in a memory. If it also reads them, call `forReading` first. */
  forWriting(memory: ValueMemory): ValueBuffer {
    const buffer = this.#memory === memory ? this.#buffer! : this.#moveTo(memory);
    this.#isArrayNewer = false;
    this.#isBufferNewer = true;
    return buffer;
  }

  /** Keeps the elements in a buffer, such as a part of a larger memory, while that memory has them. */
  placeIn(memory: ValueMemory, buffer: ValueBuffer): void {
    if (this.#memory === memory && this.#buffer === buffer) return;
    this.toHost();
    memory.write(buffer, this.#array);
    this.#buffer = buffer;
    this.#memory = memory;
    this.#isArrayNewer = false;
  }

  /** Sets all elements to 0. */
  clear(): void {
    this.#array.fill(0);
    this.#isBufferNewer = false;
    this.#isArrayNewer = true;
  }

  /** Elements `begin` to `end - 1`. After a run has written them, call the part's `toHost`. */
  part(begin: number, end: number): ManagedBuffer {
    return new ManagedBuffer(this.#array.subarray(begin, end), this);
  }

  #moveTo(memory: ValueMemory): ValueBuffer {
    this.toHost();
    this.#buffer = memory.keep(this.#array);
    this.#memory = memory;
    this.#isArrayNewer = false;
    return this.#buffer;
  }

  #takeFrom(whole: ManagedBuffer): void {
    whole.toHost();
    this.#isBufferNewer = false;
    this.#isArrayNewer = true;
  }
}
