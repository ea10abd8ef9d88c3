import type { GpuTransfers, NativeDeviceMemory, NativeGpuDevice } from '@ringrun/native';
import { aligned } from './arena.ts';
import { allocateBytes, type DeviceBuffer } from './device-buffer.ts';
import { smallBytes } from './memory.ts';

/** A part of some memory. */
export interface Place {
  readonly memory: NativeDeviceMemory;
  readonly byteOffset: number;
}

/**
 * Memory of a program for the inputs and outputs of one run, so that their addresses are the same in every run and one CUDA graph
 * serves all: a batch, a learning rate, a loss. Small ones lie together, and one copy fills all inputs, or takes all outputs.
 */
export class OwnPlaces {
  readonly #device: NativeGpuDevice;
  readonly #small: NativeDeviceMemory;
  readonly #staging: Uint8Array;
  /** Offsets by slot, of those that are small. */
  readonly #offsets: ReadonlyMap<number, number>;
  readonly #bytes: readonly number[];
  readonly #inputs: number;
  readonly #outputs: { readonly from: number; readonly end: number };
  /** By slot, of inputs that are not small. Allocated on first use. */
  readonly #large = new Map<number, NativeDeviceMemory>();

  constructor(device: NativeGpuDevice, slots: readonly number[], inputs: number, outputs: number) {
    const offsets = new Map<number, number>();
    let inputBytes = 0;
    let end = 0;
    for (let slot = 0; slot < inputs + outputs; slot += 1) {
      if (slots[slot] > smallBytes) continue;
      offsets.set(slot, end);
      end += aligned(Math.max(slots[slot], 1));
      if (slot < inputs) inputBytes = end;
    }
    this.#device = device;
    this.#offsets = offsets;
    this.#bytes = slots;
    this.#inputs = inputs;
    this.#outputs = { from: inputBytes, end };
    this.#staging = new Uint8Array(inputBytes);
    this.#small = allocateBytes(device, end);
  }

  /** Where an input or output is during a run; undefined if it is where its buffer is. */
  placeOf(slot: number, { isOfOneRun }: DeviceBuffer): Place | undefined {
    if (!isOfOneRun) return undefined;
    const byteOffset = this.#offsets.get(slot);
    if (byteOffset !== undefined) return { memory: this.#small, byteOffset };
    if (slot >= this.#inputs) return undefined;
    let memory = this.#large.get(slot);
    if (memory === undefined)
      this.#large.set(slot, (memory = allocateBytes(this.#device, this.#bytes[slot])));
    return { memory, byteOffset: 0 };
  }

  /** The copies to the places of a run's inputs, before it. */
  before(inputs: readonly DeviceBuffer[]): Required<Pick<GpuTransfers, 'uploads' | 'moves'>> {
    const moves: NonNullable<GpuTransfers['moves']>[number][] = [];
    let fills = false;
    for (const [slot, buffer] of inputs.entries()) {
      if (!buffer.isOfOneRun || this.#bytes[slot] === 0) continue;
      const { snapshot } = buffer;
      const offset = this.#offsets.get(slot);
      if (snapshot && offset !== undefined) {
        this.#staging.set(snapshot, offset);
        fills = true;
      } else if (offset === undefined) {
        const { memory } = this.placeOf(slot, buffer)!;
        moves.push({
          from: buffer.memory,
          byteOffset: buffer.byteOffset,
          to: memory,
          bytes: this.#bytes[slot],
        });
      }
    }
    return { uploads: fills ? [{ from: this.#staging, to: this.#small }] : [], moves };
  }

  /** The copy of small outputs to the host, after a run. Gives each output its part of it. */
  after(outputs: readonly DeviceBuffer[]): NonNullable<GpuTransfers['downloads']> {
    const { from, end } = this.#outputs;
    const taken = outputs.flatMap((output, index) => {
      const slot = this.#inputs + index;
      const offset = output.isOfOneRun && this.#bytes[slot] > 0 ? this.#offsets.get(slot) : undefined;
      return offset === undefined ? [] : [{ output, begin: offset - from, bytes: this.#bytes[slot] }];
    });
    if (taken.length === 0) return [];
    const all = new Uint8Array(end - from);
    for (const { output, begin, bytes } of taken) output.snapshot = all.subarray(begin, begin + bytes);
    return [{ from: this.#small, byteOffset: from, to: all }];
  }

  free(): void {
    for (const memory of [this.#small, ...this.#large.values()]) memory.free();
  }
}
