import type { TensorData } from '../dtype.ts';
import { bufferOf } from '../compiler/compile.ts';
import { freeBuffers } from '../executor/free-buffers.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { Source } from '../graph/source.ts';
import type { RunInputs } from './run-inputs.ts';

/** Free buffers of earlier runs by size in bytes, at most as many as one run used: loops need similar sizes repeatedly. */
const freeBySize = new Map<number, TensorData[]>();

/** Bytes kept for the next run. Larger buffers are freed, since their copy is cheap compared with the computation. */
const maxFreeBytes = 64e6;

/**
 * Copies of the callers' arrays at the time of the call. The run starts later, after other operations and perhaps a
 * compilation, when the caller may have written the next batch into the same array.
 */
export class CapturedInputs implements RunInputs {
  readonly #copies = new Map<Source, TensorData>();

  constructor(sources: Iterable<Source>) {
    for (const source of sources) if (source.isCallers) this.#copy(source);
  }

  /** The buffer that a run reads for a leaf. */
  readonly of = (source: Source, memory: ValueMemory): ValueBuffer => {
    const copy = this.#copies.get(source);
    return copy === undefined ? bufferOf(source, memory) : memory.upload(copy);
  };

  requireUnchanged(): void {
    // Nothing else writes the copies.
  }

  /** Keeps or frees the copies. */
  release(): void {
    if (this.#copies.size === 0) return;
    // Sizes that this run did not use.
    const unneeded = [...freeBySize.values()].flat();
    freeBySize.clear();
    let bytes = 0;
    for (const { byteLength } of this.#copies.values()) bytes += byteLength;
    if (bytes > maxFreeBytes) unneeded.push(...this.#copies.values());
    else for (const copy of this.#copies.values()) keep(copy);
    this.#copies.clear();
    if (unneeded.length > 0) freeBuffers(unneeded.map(({ buffer }) => buffer as ArrayBuffer));
  }

  #copy(source: Source): void {
    const { data } = source;
    // A detached (empty) array is reported when the graph runs.
    if (data.length === 0 || this.#copies.has(source)) return;
    const capacity = roundedUp(data.byteLength);
    // The first, so that equal graphs find equal leaves in the same copies.
    const reused = freeBySize.get(capacity)?.shift();
    const isAlike = reused?.length === data.length && reused.BYTES_PER_ELEMENT === data.BYTES_PER_ELEMENT;
    const copy = isAlike
      ? reused
      : viewLike(data, (reused?.buffer as ArrayBuffer | undefined) ?? new ArrayBuffer(capacity));
    (copy as Float32Array).set(data as Float32Array);
    this.#copies.set(source, copy);
  }
}

function keep(copy: TensorData): void {
  const alike = freeBySize.get(copy.buffer.byteLength);
  if (alike === undefined) freeBySize.set(copy.buffer.byteLength, [copy]);
  else alike.push(copy);
}

function viewLike({ constructor, length }: TensorData, buffer: ArrayBuffer): TensorData {
  return new (constructor as Float32ArrayConstructor)(buffer, 0, length);
}

/** Rounds up by at most 1/8, so that inputs of many lengths need few sizes. */
function roundedUp(bytes: number): number {
  const step = Math.max(2 ** Math.floor(Math.log2(bytes)) / 8, 8);
  return Math.ceil(bytes / step) * step;
}
