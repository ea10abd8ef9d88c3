import { ModelProto } from '../../src/onnx-format/schema.ts';
import { attributeTypeCode } from '../../src/onnx-format/type-codes.ts';

/** onnx.TensorProto.DataType. */
export const code = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
} as const;

/** An array of an ONNX model. */
export interface ArrayOfModel {
  readonly dataType: number;
  readonly dims: readonly number[];
  readonly [field: string]: unknown;
}

export const floats = (data: readonly number[], dims: readonly number[] = [data.length]): ArrayOfModel => ({
  dataType: code.float32,
  dims,
  rawData: new Uint8Array(Float32Array.from(data).buffer),
});

export const int64s = (
  data: readonly (number | bigint)[],
  dims: readonly number[] = [data.length],
): ArrayOfModel => ({
  dataType: code.int64,
  dims,
  rawData: new Uint8Array(BigInt64Array.from(data, BigInt).buffer),
});

/** A node: operator, inputs, outputs, attributes. */
export type NodeOfModel = readonly [
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes?: Readonly<Record<string, object>>,
];

/** Attributes of nodes. */
export const attribute = {
  int: (i: number) => ({ type: attributeTypeCode.int, i }),
  ints: (...ints: number[]) => ({ type: attributeTypeCode.ints, ints }),
  float: (f: number) => ({ type: attributeTypeCode.float, f }),
  string: (s: string) => ({ type: attributeTypeCode.string, s: new TextEncoder().encode(s) }),
  tensor: (t: ArrayOfModel) => ({ type: attributeTypeCode.tensor, t }),
  graph: (g: object) => ({ type: attributeTypeCode.graph, g }),
};

export interface PartsOfModel {
  readonly opset?: number;
  readonly nodes: readonly NodeOfModel[];
  /** Shapes of float32, or an element type and a shape. Default: x, [2, 3]. */
  readonly inputs?: Readonly<
    Record<string, readonly (number | string)[] | { type: number; shape: readonly (number | string)[] }>
  >;
  /** Default: y. */
  readonly outputs?: readonly string[];
  readonly arrays?: Readonly<Record<string, ArrayOfModel>>;
}

/** The graph of an ONNX model, or of a branch. */
export function graphOf({
  nodes,
  inputs = { x: [2, 3] },
  outputs = ['y'],
  arrays = {},
}: PartsOfModel): object {
  return {
    node: nodes.map(([opType, input, output, attributes = {}]) => ({
      opType,
      input,
      output,
      name: opType.toLowerCase(),
      attribute: Object.entries(attributes).map(([name, one]) => ({ name, ...one })),
    })),
    initializer: Object.entries(arrays).map(([name, array]) => ({ name, ...array })),
    input: Object.entries(inputs).map(([name, given]) => {
      const { type: elemType, shape } = 'type' in given ? given : { type: code.float32, shape: given };
      const dim = shape.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
      return { name, type: { tensorType: { elemType, shape: { dim } } } };
    }),
    output: outputs.map((name) => ({ name })),
  };
}

/** The bytes of an ONNX model. Default: opset 20. */
export function modelOf(parts: PartsOfModel): Uint8Array {
  const opsetImport = [{ domain: '', version: parts.opset ?? 20 }];
  return ModelProto.encode({ irVersion: 9, graph: graphOf(parts), opsetImport }).finish();
}
