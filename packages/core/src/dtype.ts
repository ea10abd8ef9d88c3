import { BFloat16Bits, dtypeOfBits, Float16Bits } from './bits16.ts';

/** The typed array class for each dtype. Dtypes are named as in numpy and torch. */
export interface TypedArrayOf {
  /** IEEE 754 binary32. */
  float32: Float32Array;
  /** IEEE 754 binary64. */
  float64: Float64Array;
  /** Signed, 8 bits. */
  int8: Int8Array;
  /** Unsigned, 8 bits; also a Buffer. */
  uint8: Uint8Array;
  /** Signed, 32 bits. */
  int32: Int32Array;
  /** Unsigned, 32 bits. */
  uint32: Uint32Array;
  /** Signed, 64 bits. */
  int64: BigInt64Array;
  /** Unsigned, 64 bits. */
  uint64: BigUint64Array;
  /** Bit patterns of IEEE 754 binary16. */
  float16: Float16Bits;
  /** Bit patterns of bfloat16, the upper half of a float32. */
  bfloat16: BFloat16Bits;
}

/** Element types that collectives move and reduce. */
export type DType = keyof TypedArrayOf;

/** Node's own Float16Array (Node ≥ 24), which the types of Node 20 do not declare. */
export interface NodeFloat16Array extends ArrayBufferView {
  /** Name of the class. */
  readonly [Symbol.toStringTag]: 'Float16Array';
  /** Number of elements. */
  readonly length: number;
  /** Returns the elements from `begin` up to `end`, in the same memory. */
  subarray(begin?: number, end?: number): NodeFloat16Array;
}

/** The typed arrays that collectives accept: those above, and Node's own Float16Array (Node ≥ 24) as float16. */
export type TypedArray = TypedArrayOf[DType] | NodeFloat16Array;

/** Bytes of one element. */
export const bytesPerElement: Readonly<Record<DType, number>> = {
  float32: 4,
  float64: 8,
  int8: 1,
  uint8: 1,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float16: 2,
  bfloat16: 2,
};

/** The constructor for each dtype, for creating arrays over a buffer. */
export const typedArrayClass: { readonly [T in DType]: new (buffer: ArrayBuffer) => TypedArrayOf[T] } = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Float16Bits,
  bfloat16: BFloat16Bits,
};

/**
 * The dtype of a typed array, from its class (a Buffer is a Uint8Array). Undefined for values that collectives do not
 * accept, including Uint8ClampedArray and plain Uint16Array.
 */
export function dtypeOf(value: unknown): DType | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  // Compares the tag because `instanceof` fails for arrays of another realm, such as a vm context.
  const { [Symbol.toStringTag]: tag } = value as unknown as { [Symbol.toStringTag]: string };
  switch (tag) {
    case 'Float32Array':
      return 'float32';
    case 'Float64Array':
      return 'float64';
    case 'Int8Array':
      return 'int8';
    case 'Uint8Array':
      return 'uint8';
    case 'Int32Array':
      return 'int32';
    case 'Uint32Array':
      return 'uint32';
    case 'BigInt64Array':
      return 'int64';
    case 'BigUint64Array':
      return 'uint64';
    case 'Float16Array':
      return 'float16';
    case 'Uint16Array':
      return dtypeOfUint16Array(value);
    default:
      return undefined;
  }
}

function dtypeOfUint16Array(value: object): DType | undefined {
  const { [dtypeOfBits]: dtype } = value as { [dtypeOfBits]?: unknown };
  return dtype === 'float16' || dtype === 'bfloat16' ? dtype : undefined;
}
