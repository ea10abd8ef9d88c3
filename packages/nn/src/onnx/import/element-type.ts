import type { DType, Scalar } from '../../dtype.ts';

/** Element types that ringrun reads: floats as float32 or, in constants, unconverted; integers as int64. */
export type ElementType = 'float32' | 'bool' | IntegerType | WideFloat;

export type IntegerType = 'int64' | 'int32' | 'int16' | 'int8' | 'uint32' | 'uint16' | 'uint8';

/** Float types other than float32, which tensors do not support. */
export type WideFloat = 'float64' | 'float16' | 'bfloat16';

interface ElementFormat {
  readonly type: ElementType;
  /** Bytes of an element in `rawData`. */
  readonly size: number;
  readonly read: (view: DataView, place: number) => Scalar;
  /** The list that holds the elements if `rawData` is empty. */
  readonly list: 'floatData' | 'int32Data' | 'int64Data' | 'uint64Data' | 'doubleData';
}

const little = true;

/** By onnx.TensorProto.DataType. */
const formats: Readonly<Record<number, ElementFormat>> = {
  1: { type: 'float32', size: 4, list: 'floatData', read: (v, at) => v.getFloat32(at, little) },
  2: { type: 'uint8', size: 1, list: 'int32Data', read: (v, at) => BigInt(v.getUint8(at)) },
  3: { type: 'int8', size: 1, list: 'int32Data', read: (v, at) => BigInt(v.getInt8(at)) },
  4: { type: 'uint16', size: 2, list: 'int32Data', read: (v, at) => BigInt(v.getUint16(at, little)) },
  5: { type: 'int16', size: 2, list: 'int32Data', read: (v, at) => BigInt(v.getInt16(at, little)) },
  6: { type: 'int32', size: 4, list: 'int32Data', read: (v, at) => BigInt(v.getInt32(at, little)) },
  7: { type: 'int64', size: 8, list: 'int64Data', read: (v, at) => v.getBigInt64(at, little) },
  9: { type: 'bool', size: 1, list: 'int32Data', read: (v, at) => Number(v.getUint8(at) !== 0) },
  10: { type: 'float16', size: 2, list: 'int32Data', read: (v, at) => float16(v.getUint16(at, little)) },
  11: { type: 'float64', size: 8, list: 'doubleData', read: (v, at) => v.getFloat64(at, little) },
  12: { type: 'uint32', size: 4, list: 'uint64Data', read: (v, at) => BigInt(v.getUint32(at, little)) },
  16: { type: 'bfloat16', size: 2, list: 'int32Data', read: (v, at) => bfloat16(v.getUint16(at, little)) },
};

/** Names of onnx.TensorProto.DataType in the order of their codes. */
const names =
  'undefined float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2'.split(
    ' ',
  );

/** How elements of an onnx.TensorProto.DataType are stored; undefined if ringrun does not support them. */
export function formatOfCode(code: number): ElementFormat | undefined {
  return formats[code];
}

export function elementTypeOfCode(code: number): ElementType | undefined {
  return formatOfCode(code)?.type;
}

/** ONNX's name of an onnx.TensorProto.DataType, for messages. */
export function nameOfCode(code: number): string {
  return names.at(code) ?? `data type ${code}`;
}

/** The dtype of tensors with these elements. */
export function dtypeOf(type: ElementType): Exclude<DType, 'bfloat16'> {
  if (type === 'bool') return 'bool';
  return isInteger(type) ? 'int64' : 'float32';
}

export function isInteger(type: ElementType): type is IntegerType {
  return type.startsWith('int') || type.startsWith('uint');
}

export function isWideFloat(type: ElementType): type is WideFloat {
  return type !== 'float32' && type.includes('float');
}

/** Bits of an integer type, and whether it has a sign. */
export function widthOf(type: IntegerType): { bits: number; isSigned: boolean } {
  const isSigned = type.startsWith('int');
  return { bits: Number(type.slice(isSigned ? 3 : 4)), isSigned };
}

/** Converts an arithmetic result to an element type: floats are rounded, integers wrap around. */
export function rounded(type: ElementType, element: Scalar): Scalar {
  if (type === 'float32') return Math.fround(Number(element));
  if (type === 'bool') return Number(element !== 0 && element !== 0n);
  if (!isInteger(type)) return Number(element);
  const { bits, isSigned } = widthOf(type);
  return isSigned ? BigInt.asIntN(bits, BigInt(element)) : BigInt.asUintN(bits, BigInt(element));
}

/** The number of IEEE 754 binary16 bits. */
function float16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

/** The number whose upper half of float32 bits these are. */
function bfloat16(bits: number): number {
  return new Float32Array(Uint32Array.of(bits << 16).buffer)[0];
}
