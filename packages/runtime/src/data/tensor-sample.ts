import { InvalidArgumentError } from '@ringrun/core';
import type { NumericArray } from './numeric-array.ts';
import type { ShapedArray } from './shaped-array.ts';

/**
 * A tensor in a sample, such as one of @ringrun/nn. It is identified by these properties, because this package
 * imports no library.
 */
export interface TensorSample<Data extends NumericArray = NumericArray> {
  /** Name of the element type, such as `float32`. */
  readonly dtype: string;
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** The elements, row-major and not copied; undefined for a tensor that is not computed. */
  elements(): Data | undefined;
}

export function isTensorSample(value: unknown): value is TensorSample {
  if (typeof value !== 'object' || value === null) return false;
  const { dtype, shape, elements } = value as Partial<TensorSample>;
  return typeof elements === 'function' && typeof dtype === 'string' && Array.isArray(shape);
}

/**
 * @param path the field, for the error
 * @throws InvalidArgumentError for a tensor that is not computed
 */
export function shapedArrayOf(tensor: TensorSample, path: string): ShapedArray {
  const data = tensor.elements();
  if (data !== undefined) return { data, shape: tensor.shape };
  throw new InvalidArgumentError(
    `DataLoader: ${path} is a tensor that is not computed yet, of shape [${tensor.shape.join()}]; the elements of a sample must be available. ` +
      'Compute it first, with await x.array(), and return tensor(array, shape).',
  );
}
