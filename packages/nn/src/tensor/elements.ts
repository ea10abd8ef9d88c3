import type { DType, Scalar, TensorData } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import { isInt64 } from '../scalar.ts';
import { asFloat32, type LoadableArray } from './stored-tensor.ts';
import { describeValue } from '../checks/describe-value.ts';

/** Elements that `tensor` accepts, row-major. */
export type TensorElements = LoadableArray | readonly (number | bigint | boolean)[];

/** Elements with their shape, as in the batches of a DataLoader and in state dicts. */
export interface ShapedElements {
  /** Elements, row-major. */
  readonly data: TensorElements;
  /** Length of each dimension. */
  readonly shape: readonly number[];
}

/** True for `{ data, shape }` that is not a tensor: a Parameter has both properties too, and a graph. */
export function isShaped(given: TensorElements | ShapedElements): given is ShapedElements {
  if (typeof given !== 'object' || (given as unknown) === null || 'value' in given) return false;
  return 'data' in given && 'shape' in given && Array.isArray(given.shape);
}

interface Elements {
  readonly dtype: DType;
  readonly array: TensorData;
}

/** The elements in a tensor's array type: the given array if it is a Float32Array or a BigInt64Array, else a converted copy. */
export function asElements(data: TensorElements): Elements {
  if (Array.isArray(data)) return ofList(data as unknown[]);
  switch (typeOf(data)) {
    case 'Float32Array':
      return { dtype: 'float32', array: data as Float32Array };
    case 'BigInt64Array':
      return { dtype: 'int64', array: data as BigInt64Array };
    case 'Float64Array':
    case 'Float16Array':
    case '16-bit floats':
      return { dtype: 'float32', array: asFloat32(data as LoadableArray) };
    case 'BigUint64Array':
    case 'Int8Array':
    case 'Uint8Array':
    case 'Uint8ClampedArray':
    case 'Int16Array':
    case 'Uint16Array':
    case 'Int32Array':
    case 'Uint32Array':
      return { dtype: 'int64', array: asInt64(data as ArrayLike<number | bigint>) };
    case undefined:
    default:
      throw notElements(describeValue(data));
  }
}

/** The built-in class name of a typed array, which also works for subclasses and other realms. */
function typeOf(data: unknown): string | undefined {
  if (!ArrayBuffer.isView(data)) return undefined;
  if ('toFloat32' in data) return '16-bit floats';
  return (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
}

function ofList(list: readonly unknown[]): Elements {
  const odd = Array.from(list).find((element) => !isElement(element));
  if (odd !== undefined || list.includes(undefined)) {
    throw notElements(
      Array.isArray(odd)
        ? 'a list of lists; flatten it and pass the shape'
        : `a list with ${describeValue(odd)}`,
    );
  }
  const elements = list as readonly (number | bigint | boolean)[];
  if (elements.length === 0) return { dtype: 'float32', array: new Float32Array(0) };
  if (elements.every((element) => typeof element === 'boolean')) {
    return { dtype: 'bool', array: Uint8Array.from(elements, Number) };
  }
  return elements.every(isInteger)
    ? { dtype: 'int64', array: asInt64(elements) }
    : { dtype: 'float32', array: Float32Array.from(elements, Number) };
}

function isElement(element: unknown): element is number | bigint | boolean {
  return typeof element === 'number' || typeof element === 'bigint' || typeof element === 'boolean';
}

function isInteger(element: Scalar | boolean): boolean {
  return typeof element !== 'number' || isInt64(element);
}

/** A BigInt64Array by itself would silently keep the lowest 64 bits. */
function asInt64(integers: ArrayLike<number | bigint | boolean>): BigInt64Array {
  return BigInt64Array.from(Array.from(integers), (integer) => {
    const exact = BigInt(integer);
    if (BigInt.asIntN(64, exact) === exact) return exact;
    throw new ArgumentError(
      `tensor: expected int64 elements from -2^63 to 2^63 - 1, got ${exact}. Pass floats, such as Float32Array.of(…).`,
    );
  });
}

function notElements(got: string): ArgumentError {
  return new ArgumentError(
    `tensor: the elements must be a typed array, or a list of numbers, bigints or booleans, got ${got}. ` +
      'Write tensor(Float32Array.of(1, 2), [2]) for float32, tensor(BigInt64Array.of(1n, 2n)) for int64.',
  );
}
