import type { TensorData } from './dtype.ts';
import { bufferOf } from './compiler/compile.ts';
import { freeBuffers } from './executor/free-buffers.ts';
import { onnxruntimeExecutor } from './executor/onnxruntime.ts';
import type { ValueBuffer } from './executor/value-buffer.ts';
import { isNode, type Node } from './graph/node.ts';
import type { Source } from './graph/operators.ts';

/** Free buffers of earlier runs by size in bytes, at most as many as one run used: loops need similar sizes repeatedly. */
let freeBySize = new Map<number, TensorData[]>();

/** Bytes kept for the next run. Larger buffers are freed, since their copy is cheap compared with the computation. */
const maxFreeBytes = 64e6;

/**
 * Copies of the callers' arrays at the time of the call. The run starts later, after other operations and perhaps a
 * compilation, when the caller may have written the next batch into the same array.
 */
export class CapturedInputs {
  readonly #copies = new Map<Source, TensorData>();

  constructor(nodes: readonly Node[]) {
    for (const node of nodes) {
      if (isNode(node, 'Input') && node.attributes.source.isCallers) this.#copy(node.attributes.source);
    }
  }

  /** The buffer that a run reads for a leaf. */
  readonly of = (source: Source): ValueBuffer => {
    const copy = this.#copies.get(source);
    return copy === undefined ? bufferOf(source) : onnxruntimeExecutor.upload(copy);
  };

  /** Call after the run: keeps or frees the copies. */
  release(): void {
    if (this.#copies.size === 0) return;
    const copies = [...this.#copies.values()];
    this.#copies.clear();
    if (copies.reduce((sum, { byteLength }) => sum + byteLength, 0) > maxFreeBytes) {
      freeBuffers(copies.map(({ buffer }) => buffer as ArrayBuffer));
    } else {
      // Sizes that this run did not use.
      const unused = [...freeBySize.values()].flat();
      if (unused.length > 0) freeBuffers(unused.map(({ buffer }) => buffer as ArrayBuffer));
      freeBySize = new Map();
      for (const copy of copies) {
        const alike = freeBySize.get(copy.buffer.byteLength);
        if (alike === undefined) freeBySize.set(copy.buffer.byteLength, [copy]);
        else alike.push(copy);
      }
    }
  }

  #copy(source: Source): void {
    const { data } = source;
    // A detached (empty) array is reported when the graph runs.
    if (data.length === 0 || this.#copies.has(source)) return;
    const capacity = roundedUp(data.byteLength);
    const reused = freeBySize.get(capacity)?.pop();
    const isAlike = reused?.length === data.length && reused.BYTES_PER_ELEMENT === data.BYTES_PER_ELEMENT;
    const copy = isAlike
      ? reused
      : viewLike(data, (reused?.buffer as ArrayBuffer | undefined) ?? new ArrayBuffer(capacity));
    (copy as Float32Array).set(data as Float32Array);
    this.#copies.set(source, copy);
  }
}

function viewLike({ constructor, length }: TensorData, buffer: ArrayBuffer): TensorData {
  return new (constructor as Float32ArrayConstructor)(buffer, 0, length);
}

/** Rounds up by at most 1/8, so that inputs of many lengths need few sizes. */
function roundedUp(bytes: number): number {
  const step = Math.max(2 ** Math.floor(Math.log2(bytes)) / 8, 8);
  return Math.ceil(bytes / step) * step;
}
