import { arrayFrom, type DType, type Scalar, type TensorData } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import { asElement, isInt64 } from '../scalar.ts';
import { asFloat32, type LoadableArray } from './stored-tensor.ts';
import { describeValue } from '../checks/describe-value.ts';

/** One element, as it is written. */
export type Element = number | bigint | boolean;

/** Elements without a shape, row-major. */
export type FlatElements = LoadableArray | readonly Element[];

/** Elements that `tensor` accepts: a number, lists of numbers in lists, or elements row-major. */
export type TensorElements = Element | FlatElements | readonly NestedElements[];

/** Numbers, or lists of them of one length. */
export type NestedElements = Element | readonly NestedElements[];

/** Elements with their shape, as in the batches of a DataLoader and in state dicts. */
export interface ShapedElements {
  /** Elements, row-major. */
  readonly data: FlatElements;
  /** Length of each dimension. */
  readonly shape: readonly number[];
}

/** True for `{ data, shape }` that is not a tensor: a Parameter has both properties too, and a graph. */
export function isShaped(given: unknown): given is ShapedElements {
  if (typeof given !== 'object' || given === null || 'value' in given) return false;
  return 'data' in given && 'shape' in given && Array.isArray(given.shape);
}

interface Elements {
  readonly dtype: DType;
  readonly array: TensorData;
}

/**
 * The elements in a tensor's array type: the given array if it is a Float32Array or a BigInt64Array, else a converted copy.
 *
 * @param wanted the element type. Default: that of the elements. As in torch, floats become int64 by truncation, and bool where they
 *   are not 0.
 */
export function asElements(data: FlatElements, wanted?: DType): Elements {
  // Without bigints, which take most of the time of a batch of images.
  if (wanted === 'float32' && smallIntegers.has(typeOf(data) ?? ''))
    return { dtype: wanted, array: Float32Array.from(data as ArrayLike<number>) };
  if (wanted === 'float32' && Array.isArray(data) && data.every(isNumber))
    return { dtype: wanted, array: new Float32Array(data as readonly number[]) };
  const found = ownElements(data);
  if (wanted === undefined || wanted === found.dtype) return found;
  const elements = Array.from<Scalar>(found.array as ArrayLike<Scalar>);
  return {
    dtype: wanted,
    array: arrayFrom(
      wanted,
      elements.map((one) => asElement(one, wanted)),
    ),
  };
}

/** Types of integers of at most 32 bits. */
const smallIntegers: ReadonlySet<string> = new Set(
  'Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array'.split(' '),
);

/** The elements in the type that torch infers. */
function ownElements(data: FlatElements): Elements {
  if (Array.isArray(data)) return ofList(data as unknown[]);
  const type = typeOf(data) ?? '';
  switch (type) {
    case 'Float32Array':
      return { dtype: 'float32', array: data as Float32Array };
    case 'BigInt64Array':
      return { dtype: 'int64', array: data as BigInt64Array };
    case 'Float64Array':
    case 'Float16Array':
    case '16-bit floats':
      return { dtype: 'float32', array: asFloat32(data as LoadableArray) };
  }
  if (!smallIntegers.has(type) && type !== 'BigUint64Array') throw notElements(describeValue(data));
  return { dtype: 'int64', array: asInt64(data as ArrayLike<number | bigint>) };
}

/**
 * The numbers of lists in lists, row-major, and their shape; a number has the shape [].
 *
 * @throws ArgumentError for lists of different lengths at one depth
 */
export function flattened(given: NestedElements): { data: Element[]; shape: number[] } {
  if (!Array.isArray(given)) return { data: [given as Element], shape: [] };
  const shape = shapeOf(given);
  const data: Element[] = [];
  appendElements(given, shape, 0, data);
  return { data, shape };
}

/** The lengths of a list and of its first elements. */
function shapeOf(given: unknown): number[] {
  const shape: number[] = [];
  for (let first = given; Array.isArray(first); first = first[0]) shape.push(first.length);
  return shape;
}

/** @param shape of the outermost list, whose depth is 0 */
function appendElements(
  list: readonly unknown[],
  shape: readonly number[],
  depth: number,
  data: unknown[],
): void {
  const length = shape.at(depth + 1);
  for (let i = 0; i < list.length; i += 1) {
    const one = list[i];
    const isInShape = Array.isArray(one) ? one.length === length : length === undefined;
    if (!isInShape) {
      throw new ArgumentError(
        `tensor: expected lists of one shape, got [${shapeOf(list[0]).join()}] at 0 and [${shapeOf(one).join()}] at ${i} of a list of ${list.length}. Fill up the shorter ones, such as with padTo of ringrun.`,
      );
    }
    if (Array.isArray(one)) appendElements(one, shape, depth + 1, data);
    else data.push(one);
  }
}

/** The built-in class name of a typed array, which also works for subclasses and other realms. */
function typeOf(data: unknown): string | undefined {
  if (!ArrayBuffer.isView(data)) return undefined;
  if ('toFloat32' in data) return '16-bit floats';
  return (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
}

function ofList(list: readonly unknown[]): Elements {
  let [booleans, integers] = [0, 0];
  for (let i = 0; i < list.length; i += 1) {
    const element = list[i];
    if (!isElement(element)) throw notElements(`a list with ${describeValue(element)}`);
    if (typeof element === 'boolean') booleans += 1;
    if (isInteger(element)) integers += 1;
  }
  const elements = list as readonly Element[];
  if (elements.length === 0) return { dtype: 'float32', array: new Float32Array(0) };
  if (booleans === elements.length) return { dtype: 'bool', array: Uint8Array.from(elements, Number) };
  return integers === elements.length
    ? { dtype: 'int64', array: asInt64(elements) }
    : { dtype: 'float32', array: Float32Array.from(elements, Number) };
}

function isNumber(element: unknown): element is number {
  return typeof element === 'number';
}

/** True for a number, a bigint or a boolean. */
export function isElement(element: unknown): element is Element {
  return typeof element === 'number' || typeof element === 'bigint' || typeof element === 'boolean';
}

function isInteger(element: Scalar | boolean): boolean {
  return typeof element !== 'number' || isInt64(element);
}

/** A BigInt64Array by itself would silently keep the lowest 64 bits. */
function asInt64(integers: ArrayLike<number | bigint | boolean>): BigInt64Array {
  const array = new BigInt64Array(integers.length);
  for (let i = 0; i < integers.length; i += 1) {
    const exact = BigInt(integers[i]);
    array[i] = exact;
    if (array[i] === exact) continue;
    throw new ArgumentError(
      `tensor: expected int64 elements from -2^63 to 2^63 - 1, got ${exact}. Pass floats, such as Float32Array.of(…).`,
    );
  }
  return array;
}

function notElements(got: string): ArgumentError {
  return new ArgumentError(
    `tensor: the elements must be a typed array, a number, bigint or boolean, or lists of these, got ${got}. ` +
      'Write tensor(Float32Array.of(1, 2), [2]) for float32, tensor(BigInt64Array.of(1n, 2n)) for int64.',
  );
}
