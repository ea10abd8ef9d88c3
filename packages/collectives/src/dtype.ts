/** The typed array that holds elements of each dtype; dtypes have their names in numpy and torch. */
export interface TypedArrayOf {
  float32: Float32Array;
  float64: Float64Array;
  int8: Int8Array;
  uint8: Uint8Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
}

/** Element types that collectives move and reduce. */
export type DType = keyof TypedArrayOf;

export type TypedArray = TypedArrayOf[DType];

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
};

/** The class of `TypedArrayOf` for each dtype, to make arrays over a buffer. */
export const typedArrayClass: { readonly [T in DType]: new (buffer: ArrayBuffer) => TypedArrayOf[T] } = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
};

const dtypeOfClass: ReadonlyMap<string, DType> = new Map(
  (Object.keys(typedArrayClass) as DType[]).map((dtype) => [typedArrayClass[dtype].name, dtype]),
);

/**
 * The dtype of a typed array, told by its class (a Buffer is a Uint8Array); undefined for anything that collectives do not
 * take: other arrays, a Uint8ClampedArray among them, and other values.
 */
export function dtypeOf(value: unknown): DType | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  // The language's own name of the class: `instanceof` fails for arrays of another realm, as in a vm context.
  const name: unknown = (value as Partial<TypedArray>)[Symbol.toStringTag];
  return typeof name === 'string' ? dtypeOfClass.get(name) : undefined;
}
