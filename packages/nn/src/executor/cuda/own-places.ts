import type { NativeDeviceMemory, NativeGpuDevice } from '@ringrun/native';
import { aligned } from './arena.ts';
import { allocateBytes, type DeviceBuffer } from './device-buffer.ts';
import { smallBytes } from './memory.ts';

/** A part of some memory. */
export interface Place {
  readonly memory: NativeDeviceMemory;
  readonly byteOffset: number;
}

/** Memory for the small inputs and outputs of one run: a learning rate, a loss. One copy fills all inputs. */
export class SmallBuffers {
  readonly #device: NativeGpuDevice;
  readonly #memory: NativeDeviceMemory;
  readonly #staging: Uint8Array;
  /** Offsets by slot, of those that are small. */
  readonly #offsets: ReadonlyMap<number, number>;
  readonly #bytes: readonly number[];
  readonly #firstOutput: number;

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
    this.#firstOutput = inputs;
    this.#staging = new Uint8Array(inputBytes);
    this.#memory = allocateBytes(device, end);
  }

  placeOf(slot: number, { isOfOneRun }: DeviceBuffer): Place | undefined {
    const byteOffset = isOfOneRun ? this.#offsets.get(slot) : undefined;
    return byteOffset === undefined ? undefined : { memory: this.#memory, byteOffset };
  }

  /** Copies the snapshots of a run's inputs. */
  upload(inputs: readonly DeviceBuffer[]): void {
    let copies = false;
    for (const [slot, { snapshot }] of inputs.entries()) {
      if (snapshot === undefined) continue;
      this.#staging.set(snapshot, this.#offsets.get(slot));
      copies = true;
    }
    if (copies) this.#device.upload(this.#staging, this.#memory).catch(() => undefined);
  }

  /** Copies small outputs to where they are downloaded from. */
  takeOutputs(outputs: readonly DeviceBuffer[]): void {
    for (const [index, buffer] of outputs.entries()) {
      const slot = this.#firstOutput + index;
      const place = this.placeOf(slot, buffer);
      const bytes = this.#bytes[slot];
      if (place && bytes > 0) this.#device.copy(place.memory, buffer.memory, bytes, place.byteOffset);
    }
  }

  free(): void {
    this.#memory.free();
  }
}
