import type { DistributedTensor } from 'ringrun';
import { input } from './ops/source.ts';
import { requireLength } from './require-length.ts';
import { Tensor } from './tensor.ts';

/**
 * A tensor that belongs to a model and is not trained, such as a running mean (what torch.nn.Module.register_buffer makes of a tensor). As a
 * property of a module it is listed by `namedBuffers`. Its elements live in an array that stays where it is.
 */
export class BufferTensor extends Tensor implements DistributedTensor {
  /** The elements, row-major; changed in place. */
  readonly data: Float32Array;

  constructor(data: Float32Array, shape: readonly number[] = [data.length]) {
    requireLength(data, { dtype: 'float32', shape });
    super(input('float32', shape, { data }));
    this.data = data;
  }
}
