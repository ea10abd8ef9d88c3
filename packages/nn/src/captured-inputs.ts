import type { TensorData } from './dtype.ts';
import { discard } from './executor/discard.ts';
import { isNode, type Node } from './graph/node.ts';
import type { Source } from './graph/operators.ts';

/** Copies of earlier runs, as many as one run took, by type and length: loops ask for the same ones again and again. */
let free = new Map<string, TensorData[]>();

/** Bytes of copies that are held for the next run; larger ones are freed, whose copying costs little beside what is computed from them. */
const mostHeld = 64e6;

/**
 * What callers' arrays held when a run was asked for. It begins later: onnxruntime reads its inputs in a later turn of the event loop, after other operations and perhaps a
 * compilation, and the caller may have put the next batch into the same array by then.
 */
export class CapturedInputs {
  readonly #copies = new Map<Source, TensorData>();

  constructor(nodes: readonly Node[]) {
    for (const node of nodes) {
      if (isNode(node, 'Input') && node.attributes.source.isCallers) this.#copy(node.attributes.source);
    }
  }

  /** The array that a run reads for a leaf. */
  readonly of = (source: Source): TensorData => this.#copies.get(source) ?? source.data;

  /** The run is over. */
  release(): void {
    if (this.#copies.size === 0) return;
    const copies = [...this.#copies.values()];
    this.#copies.clear();
    if (copies.reduce((sum, { byteLength }) => sum + byteLength, 0) > mostHeld) {
      discard(copies.map(({ buffer }) => buffer as ArrayBuffer));
    } else {
      free = new Map();
      for (const copy of copies) free.set(keyOf(copy), [...(free.get(keyOf(copy)) ?? []), copy]);
    }
  }

  #copy(source: Source): void {
    const { data } = source;
    // One that was emptied is reported when the graph runs.
    if (data.length === 0 || this.#copies.has(source)) return;
    const place = free.get(keyOf(data))?.pop();
    if (place === undefined) {
      this.#copies.set(source, data.slice());
    } else {
      (place as Float32Array).set(data as Float32Array);
      this.#copies.set(source, place);
    }
  }
}

function keyOf(data: TensorData): string {
  return `${data.BYTES_PER_ELEMENT}:${data.length}`;
}
