import type { Arrival, DistributedBuffer, DistributedTensor } from '@ringrun/core';
import type { Device } from '../executor/device.ts';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import { recordChange, type Change } from '../graph/changes.ts';
import type { Source } from '../graph/source.ts';
import { input } from '../ops/source.ts';
import { requireLength } from '../checks/require-length.ts';
import { Tensor } from './tensor.ts';

/**
 * A tensor of a model that is not a parameter, such as a running mean (torch.nn.Module.register_buffer). As a property of a
 * module, it is listed by `namedBuffers`. Its array is never replaced.
 */
export class BufferTensor extends Tensor implements DistributedTensor, DistributedBuffer {
  readonly #elements: BufferElements;

  constructor(data: Float32Array, shape: readonly number[] = [data.length]) {
    requireLength(data, { dtype: 'float32', shape });
    const elements = new BufferElements(data);
    super(input('float32', shape, elements));
    this.#elements = elements;
  }

  /**
   * The elements, row-major; changed in place. After a forward call of DistributedDataParallel, reading this property blocks
   * until rank 0's elements have been received, so read it again instead of keeping the array.
   *
   * @throws the error of that broadcast
   */
  get data(): Float32Array {
    return this.#elements.data;
  }

  /**
   * Records that the elements were changed, for graphs that were recorded before.
   *
   * @internal
   */
  recordChange(change: Change): void {
    recordChange(this.value, change);
  }

  /**
   * The memory of `data`. Blocks like `data`.
   *
   * @internal
   */
  get memory(): ManagedBuffer {
    this.#elements.arrival?.waitSync();
    return this.#elements.memory;
  }

  /**
   * Sets the device of the graphs that read the buffer.
   *
   * @internal
   */
  moveTo(device: Device): void {
    this.#elements.device = device;
  }

  expect(arrival: Arrival): void {
    this.#elements.arrival = arrival;
    // The broadcast writes the array.
    this.toHost();
  }

  toHost(): void {
    this.#elements.memory.toHost();
  }
}

/** Elements that another rank may be sending. */
class BufferElements implements Source {
  arrival: Arrival | undefined;
  device: Device | undefined;
  readonly memory: ManagedBuffer;

  constructor(data: Float32Array) {
    this.memory = new ManagedBuffer(data);
  }

  get data(): Float32Array {
    this.arrival?.waitSync();
    return this.memory.array;
  }

  bufferIn(memory: ValueMemory): ValueBuffer {
    this.arrival?.waitSync();
    return this.memory.forReading(memory);
  }

  get isAvailable(): boolean {
    return this.arrival?.hasArrived ?? true;
  }

  arrived(): Promise<void> | undefined {
    return this.arrival?.wait();
  }
}
