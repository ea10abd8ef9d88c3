import { requireDType } from '../checks/require-dtype.ts';
import type { DType } from '../dtype.ts';
import { cast } from '../ops/elementwise.ts';
import { TensorMethods } from './tensor-methods.ts';

/** The same elements in another dtype. */
export abstract class ConversionMethods<
  Tensor extends ConversionMethods<Tensor>,
> extends TensorMethods<Tensor> {
  /**
   * The elements in another dtype (torch.Tensor.to). Floats are truncated to integers, and become true unless
   * they are 0. Only floats have gradients.
   */
  to(dtype: DType): Tensor {
    return this.of(cast(this.value, requireDType('to', dtype)));
  }

  /** The elements in float32 (torch.Tensor.float). */
  float(): Tensor {
    return this.to('float32');
  }

  /**
   * The elements in bfloat16, rounded to 8 significant bits (torch.Tensor.bfloat16). `array` returns them as float32 numbers,
   * exactly.
   */
  bfloat16(): Tensor {
    return this.to('bfloat16');
  }

  /** The elements in int64 (torch.Tensor.long). */
  long(): Tensor {
    return this.to('int64');
  }

  /** The elements in bool (torch.Tensor.bool). */
  bool(): Tensor {
    return this.to('bool');
  }
}
