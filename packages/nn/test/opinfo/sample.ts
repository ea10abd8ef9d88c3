import type { ArrayOf, DType, TensorData } from '../../src/index.ts';
import { Parameter, type Tensor } from '../../src/index.ts';
import { tensorOf } from '../../src/tensor/creation.ts';

/** A value as written by test/golden/opinfo.py. */
export type Encoded =
  | null
  | boolean
  | number
  | string
  | readonly Encoded[]
  | EncodedTensor
  | { readonly number: string; readonly isInteger: boolean }
  | { readonly dict: Readonly<Record<string, Encoded>> }
  | { readonly slice: readonly (number | null)[] }
  | { readonly dtype: string }
  | { readonly ellipsis: true }
  | { readonly other: string };

export interface EncodedTensor {
  readonly tensor: DType;
  readonly shape: readonly number[];
  /** Base64 of the elements, little-endian. */
  readonly data: string;
  readonly grad: boolean;
  /** Base64 of float32: the error of single precision in torch. Default: 0. */
  readonly rounding?: string;
  /** Base64 of float32, of a bfloat16 tensor: the result computed in float64 and rounded to float32. */
  readonly exact?: string;
}

/** A torch call and its result. */
export interface Sample {
  /** `op sum`, `module Linear`, `optimizer SGD` */
  readonly name: string;
  /** Variant of the operation, such as `rounding_mode=trunc` of div; usually ''. */
  readonly variant: string;
  readonly dtype: DType;
  readonly values: 'samples' | 'special values' | 'ties' | 'kinks' | 'errors';
  /** Of an operation: input, positional and named arguments; of a module: the named ones of `forward`. */
  readonly arguments: Encoded;
  /** Arguments of a module or of an optimizer. */
  readonly constructor: Encoded;
  readonly training?: boolean;
  readonly state?: Encoded;
  readonly outputs?: readonly Encoded[];
  readonly gradients?: readonly EncodedTensor[];
  /** The reason for which torch rejects the call. */
  readonly error?: string;
}

/** A number that is a float in Python; JavaScript has no 2.0. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A Python value without a counterpart. */
export class Other {
  readonly what: string;
  constructor(what: string) {
    this.what = what;
  }
}

export class Slice {
  readonly bounds: readonly (number | null)[];
  constructor(bounds: readonly (number | null)[]) {
    this.bounds = bounds;
  }
}

export type Decoded =
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Float
  | Other
  | Slice
  | Tensor
  | readonly Decoded[]
  | { readonly [name: string]: Decoded };

/** The value in JavaScript; None is undefined. Tensors with a gradient become parameters, which are added to the list. */
export function decode(value: Encoded, trained: Parameter[]): Decoded {
  if (value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (isList(value)) return value.map((one) => decode(one, trained));
  if ('tensor' in value) return decodeTensor(value, trained);
  if ('number' in value) return decodeNumber(value);
  if ('dict' in value) return decodeDict(value.dict, trained);
  if ('slice' in value) return new Slice(value.slice);
  if ('dtype' in value) return value.dtype;
  if ('ellipsis' in value) return '...';
  return new Other(value.other);
}

/** The arguments of a dictionary by name. */
export function decodeDict(
  dict: Readonly<Record<string, Encoded>>,
  trained: Parameter[],
): Record<string, Decoded> {
  return Object.fromEntries(Object.entries(dict).map(([name, one]) => [name, decode(one, trained)]));
}

const isList = (value: unknown): value is readonly Encoded[] => Array.isArray(value);

function decodeNumber({ number, isInteger }: { number: string; isInteger: boolean }): Decoded {
  if (!isInteger) return new Float(Number(number));
  return Number.isSafeInteger(Number(number)) ? Number(number) : BigInt(number);
}

function decodeTensor(encoded: EncodedTensor, trained: Parameter[]): Tensor {
  const data = elementsOf(encoded);
  if (!encoded.grad) return tensorOf(encoded.tensor, encoded.shape, data);
  const parameter = new Parameter(data as Float32Array, encoded.shape);
  trained.push(parameter);
  return encoded.tensor === 'bfloat16' ? parameter.bfloat16() : parameter;
}

export function elementsOf({ tensor, data }: EncodedTensor): TensorData {
  return arrayOf(tensor, data);
}

export function roundingOf({ rounding }: EncodedTensor): Float32Array | undefined {
  return rounding === undefined ? undefined : arrayOf('float32', rounding);
}

/** The result of a bfloat16 call in float64, rounded to float32. Default: the result itself. */
export function exactOf({ exact, data }: EncodedTensor): Float32Array {
  return arrayOf('float32', exact ?? data);
}

function arrayOf<D extends DType>(dtype: D, data: string): ArrayOf[D] {
  // A copy, because typed arrays of several bytes an element need aligned memory.
  const { buffer } = new Uint8Array(Buffer.from(data, 'base64'));
  const arrays = {
    float32: () => new Float32Array(buffer),
    bfloat16: () => new Float32Array(buffer),
    int64: () => new BigInt64Array(buffer),
    bool: () => new Uint8Array(buffer),
  };
  return arrays[dtype]() as ArrayOf[D];
}
