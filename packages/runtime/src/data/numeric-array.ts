/** A typed array of any element type. */
export type NumericArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** Name of an array type, such as `'Float32Array'`. */
export type ArrayTypeName = NumericArray[typeof Symbol.toStringTag];

/** The array type with that name. */
export type ArrayNamed<Name extends ArrayTypeName> = Extract<
  NumericArray,
  Readonly<Record<typeof Symbol.toStringTag, Name>>
>;

const arrayTypes = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Float32Array,
  Float64Array,
} satisfies Record<ArrayTypeName, ArrayType<NumericArray>>;

interface ArrayType<Kind> {
  readonly BYTES_PER_ELEMENT: number;
  new (lengthOrMemory: number | ArrayBuffer): Kind;
}

/**
 * By name, because an array's constructor may be a subclass, such as Buffer, that cannot be constructed this
 * way.
 */
export function arrayType<Name extends ArrayTypeName>(name: Name): ArrayType<ArrayNamed<Name>> {
  return arrayTypes[name] as unknown as ArrayType<ArrayNamed<Name>>;
}
