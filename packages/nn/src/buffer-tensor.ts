import type { Arrival, DistributedBuffer, DistributedTensor } from 'ringrun';
import { input } from './ops/source.ts';
import { requireLength } from './require-length.ts';
import { Tensor } from './tensor.ts';

/**
 * A tensor that belongs to a model and is not trained, such as a running mean (what torch.nn.Module.register_buffer makes of a tensor). As a
 * property of a module it is listed by `namedBuffers`. Its elements live in an array that stays where it is.
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
   * The elements, row-major; changed in place. Between the forward call of a DistributedDataParallel and what computes it, asking for them blocks until rank 0's have
   * come: ask anew instead of keeping the array.
   *
   * @throws the error of that broadcast
   */
  get data(): Float32Array {
    return this.#elements.data;
  }

  expect(arrival: Arrival): void {
    this.#elements.arrival = arrival;
  }
}

/** An array to which other elements may be on their way. */
class BufferElements {
  arrival: Arrival | undefined;
  readonly place: Float32Array;

  constructor(place: Float32Array) {
    this.place = place;
  }

  get data(): Float32Array {
    this.arrival?.waitSync();
    return this.place;
  }

  get isThere(): boolean {
    return this.arrival?.hasArrived ?? true;
  }

  arrived(): Promise<void> | undefined {
    return this.arrival?.wait();
  }
}
