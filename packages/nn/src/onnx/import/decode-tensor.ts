import type { Scalar } from '../../dtype.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { sizeOf } from '../../value-type.ts';
import { constantArray, type ConstantArray } from './constant-array.ts';
import { formatOfCode, isInteger, nameOfCode } from './element-type.ts';
import type { ReadExternal } from './external-data.ts';

/** onnx.TensorProto. */
export interface TensorMessage {
  readonly name: string;
  readonly dims: readonly number[];
  readonly dataType: number;
  readonly floatData: readonly number[];
  readonly int32Data: readonly number[];
  /** Packed varints. */
  readonly int64Data: Uint8Array;
  readonly uint64Data: Uint8Array;
  readonly doubleData: readonly number[];
  readonly rawData: Uint8Array;
  readonly externalData: readonly { readonly key: string; readonly value: string }[];
  readonly dataLocation: number;
}

/** onnx.TensorProto.DataLocation. */
const external = 1;

type ElementFormat = NonNullable<ReturnType<typeof formatOfCode>>;

export function decodeTensor(tensor: TensorMessage, readExternal: ReadExternal): ConstantArray {
  const { name, dims: shape, dataType } = tensor;
  const format = formatOfCode(dataType);
  if (format === undefined) {
    throw new ArgumentError(
      `importOnnx: expected floats, integers or bool in ${name || 'a constant'}, got ${nameOfCode(dataType)}. Export the model without it.`,
    );
  }
  const count = sizeOf(shape);
  const bytes =
    tensor.dataLocation === external
      ? externalBytes(tensor, count * format.size, readExternal)
      : tensor.rawData;
  const data = bytes.length > 0 ? elementsOf(bytes, format) : listed(tensor, format);
  if (data.length !== count) {
    throw new ArgumentError(
      `importOnnx: expected ${count} elements of ${name || 'a constant'} [${shape.join()}], got ${data.length}. The file is damaged.`,
    );
  }
  return constantArray(format.type, shape, data);
}

function elementsOf(bytes: Uint8Array, { type, size, read }: ElementFormat): ArrayLike<Scalar> {
  if (bytes.length % size !== 0) return { length: bytes.length / size };
  if (type === 'float32') return new Float32Array(alignedBuffer(bytes));
  if (type === 'int64') return new BigInt64Array(alignedBuffer(bytes));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / size }, (_, i) => read(view, i * size));
}

/** A buffer with exactly these bytes: their own buffer, or a copy. */
function alignedBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteLength } = bytes;
  return (buffer.byteLength === byteLength ? buffer : new Uint8Array(bytes).buffer) as ArrayBuffer;
}

/** The elements, if they are stored in a list instead of bytes. */
function listed(tensor: TensorMessage, { type, list, size, read }: ElementFormat): Scalar[] {
  if (list === 'int64Data' || list === 'uint64Data') return varints(tensor[list]);
  const elements = tensor[list];
  if (isInteger(type)) return Array.from(elements, BigInt);
  if (size !== 2) return Array.from(elements);
  // 16-bit floats are listed as the integers with the same bits.
  const view = new DataView(new ArrayBuffer(2));
  return Array.from(elements, (bits) => {
    view.setUint16(0, bits, true);
    return read(view, 0);
  });
}

/** Integers of 64 bits as protobuf packs them: seven bits a byte, the lowest first. */
function varints(bytes: Uint8Array): bigint[] {
  const integers: bigint[] = [];
  let [integer, shift] = [0n, 0n];
  for (const byte of bytes) {
    integer |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte & 0x80) continue;
    integers.push(BigInt.asIntN(64, integer));
    [integer, shift] = [0n, 0n];
  }
  return integers;
}

function externalBytes(
  { name, externalData }: TensorMessage,
  size: number,
  readExternal: ReadExternal,
): Uint8Array {
  const entries = new Map(externalData.map(({ key, value }) => [key, value]));
  const location = entries.get('location');
  if (location === undefined) {
    throw new ArgumentError(
      `importOnnx: expected the location of the data of ${name}, got none. The file is damaged.`,
    );
  }
  const offset = Number(entries.get('offset') ?? 0);
  return readExternal(name, { location, offset, length: Number(entries.get('length') ?? size) });
}
