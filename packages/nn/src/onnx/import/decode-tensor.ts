import { ArgumentError } from '../../errors.ts';
import type { DType } from '../../dtype.ts';
import { sizeOf } from '../../graph/node.ts';
import { constantArray, type ConstantArray } from './constant-array.ts';

/** The bytes of an array that is stored in a file beside the model. */
export type ReadExternal = (location: string, offset: number, length: number | undefined) => Uint8Array;

/** onnx.TensorProto. */
export interface TensorMessage {
  readonly name: string;
  readonly dims: readonly number[];
  readonly dataType: number;
  readonly floatData: readonly number[];
  readonly int32Data: readonly number[];
  readonly int64Data: readonly number[];
  readonly doubleData: readonly number[];
  readonly rawData: Uint8Array;
  readonly externalData: readonly { readonly key: string; readonly value: string }[];
  readonly dataLocation: number;
}

interface ElementType {
  readonly dtype: DType;
  /** Bytes of an element in `rawData`. */
  readonly size: number;
  readonly read: (view: DataView, place: number) => number;
  /** The list that has the elements if `rawData` is empty. */
  readonly list: 'floatData' | 'int32Data' | 'int64Data' | 'doubleData';
  /** Converts an element of that list. Default: it is the number. */
  readonly of?: (element: number) => number;
}

const little = true;

/** onnx.TensorProto.DataType: floats become float32, integers int64. */
const elementTypes: Readonly<Record<number, ElementType>> = {
  1: { dtype: 'float32', size: 4, list: 'floatData', read: (v, at) => v.getFloat32(at, little) },
  2: { dtype: 'int64', size: 1, list: 'int32Data', read: (v, at) => v.getUint8(at) },
  3: { dtype: 'int64', size: 1, list: 'int32Data', read: (v, at) => v.getInt8(at) },
  5: { dtype: 'int64', size: 2, list: 'int32Data', read: (v, at) => v.getInt16(at, little) },
  6: { dtype: 'int64', size: 4, list: 'int32Data', read: (v, at) => v.getInt32(at, little) },
  7: { dtype: 'int64', size: 8, list: 'int64Data', read: (v, at) => Number(v.getBigInt64(at, little)) },
  9: { dtype: 'bool', size: 1, list: 'int32Data', read: (v, at) => v.getUint8(at) },
  10: {
    dtype: 'float32',
    size: 2,
    list: 'int32Data',
    read: (v, at) => float16(v.getUint16(at, little)),
    of: float16,
  },
  11: { dtype: 'float32', size: 8, list: 'doubleData', read: (v, at) => v.getFloat64(at, little) },
  16: {
    dtype: 'float32',
    size: 2,
    list: 'int32Data',
    read: (v, at) => bfloat16(v.getUint16(at, little)),
    of: bfloat16,
  },
};

/** ringrun's dtype of an onnx.TensorProto.DataType; undefined if it has none. */
export function dtypeOfCode(code: number): DType | undefined {
  return (elementTypes[code] as ElementType | undefined)?.dtype;
}

export function decodeTensor(tensor: TensorMessage, readExternal: ReadExternal): ConstantArray {
  const { name, dims: shape, dataType } = tensor;
  const type = elementTypes[dataType] as ElementType | undefined;
  if (type === undefined) {
    throw new ArgumentError(
      `importOnnx: expected floats, integers or bool in ${name || 'a constant'}, got ONNX's data type ${dataType}.`,
    );
  }
  const count = sizeOf(shape);
  const bytes = tensor.dataLocation === 1 ? externalBytes(tensor, readExternal) : tensor.rawData;
  const list = tensor[type.list];
  const length = bytes.length > 0 ? bytes.length / type.size : list.length;
  if (length !== count) {
    throw new ArgumentError(
      `importOnnx: expected ${count} elements of ${name || 'a constant'} [${shape.join()}], got ${length}.`,
    );
  }
  const data = type.dtype === 'float32' ? new Float32Array(count) : new Float64Array(count);
  if (bytes.length > 0) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let i = 0; i < count; i += 1) data[i] = type.read(view, i * type.size);
  } else {
    for (let i = 0; i < count; i += 1) data[i] = type.of ? type.of(list[i]) : list[i];
  }
  return constantArray(type.dtype, shape, data);
}

function externalBytes({ name, externalData }: TensorMessage, readExternal: ReadExternal): Uint8Array {
  const entries = new Map(externalData.map(({ key, value }) => [key, value]));
  const location = entries.get('location');
  if (location === undefined) throw new ArgumentError(`importOnnx: ${name} has no location of its data.`);
  const length = entries.get('length');
  return readExternal(
    location,
    Number(entries.get('offset') ?? 0),
    length === undefined ? undefined : Number(length),
  );
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
