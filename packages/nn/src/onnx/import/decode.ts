import { ArgumentError } from '../../errors.ts';
import type { DType } from '../../dtype.ts';
import { attributeTypeCode, ModelProto, namesKeys } from '../schema.ts';
import type { ConstantArray } from './constant-array.ts';
import { decodeTensor, dtypeOfCode, type ReadExternal, type TensorMessage } from './decode-tensor.ts';

/** A decoded ONNX model. */
export interface OnnxModel {
  /** Version of the standard operators. */
  readonly opset: number;
  readonly graph: OnnxGraph;
  /** Names of the initializers that `exportOnnx` has marked; undefined for models of others. */
  readonly marked:
    { readonly parameters: readonly string[]; readonly buffers: readonly string[] } | undefined;
}

/** A graph of a model, or a branch of an If. */
export interface OnnxGraph {
  /** In the order in which they are computed. */
  readonly nodes: readonly OnnxNode[];
  readonly initializers: ReadonlyMap<string, ConstantArray>;
  /** Without initializers. */
  readonly inputs: readonly OnnxInput[];
  readonly outputs: readonly string[];
}

/** An input of a model. */
export interface OnnxInput {
  /** Name in the model. */
  readonly name: string;
  /** Undefined: not told, or not one of ringrun's. */
  readonly dtype: DType | undefined;
  /** Undefined: not told. Its sizes are those of an example, names of dynamic dimensions, or undefined. */
  readonly shape: readonly (number | string | undefined)[] | undefined;
}

export interface OnnxNode {
  readonly op: string;
  /** '' for standard operators. */
  readonly domain: string;
  /** For messages. */
  readonly name: string;
  /** '' for inputs that are left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, AttributeContent>;
}

export type AttributeContent = number | string | readonly number[] | ConstantArray | OnnxGraph;

interface NodeMessage {
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly name: string;
  readonly opType: string;
  readonly domain: string;
  readonly attribute: readonly AttributeMessage[];
}

interface AttributeMessage {
  readonly name: string;
  readonly f: number;
  readonly i: number;
  readonly s: Uint8Array;
  readonly t: TensorMessage | null;
  readonly g: GraphMessage | null;
  readonly floats: readonly number[];
  readonly ints: readonly number[];
  readonly type: number;
}

interface GraphMessage {
  readonly node: readonly NodeMessage[];
  readonly initializer: readonly TensorMessage[];
  readonly input: readonly ValueInfoMessage[];
  readonly output: readonly ValueInfoMessage[];
}

interface ValueInfoMessage {
  readonly name: string;
  readonly type: {
    readonly tensorType: {
      readonly elemType: number;
      readonly shape: { readonly dim: readonly DimensionMessage[] } | null;
    } | null;
  } | null;
}

interface DimensionMessage {
  readonly dimValue?: number;
  readonly dimParam?: string;
}

interface ModelMessage {
  readonly graph: GraphMessage | null;
  readonly opsetImport: readonly { readonly domain: string; readonly version: number }[];
  readonly metadataProps: readonly { readonly key: string; readonly value: string }[];
}

/**
 * Decodes the bytes of an ONNX file.
 *
 * @throws ArgumentError if they are not an ONNX model
 */
export function decodeModel(bytes: Uint8Array, readExternal: ReadExternal): OnnxModel {
  const { graph, opsetImport, metadataProps } = messageOf(bytes);
  const opset = opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version;
  if (!graph || opset === undefined || graph.output.length === 0) {
    throw new ArgumentError(
      `importOnnx: expected an ONNX model, got ${bytes.length} bytes without a graph. Pass the bytes or the path of an .onnx file.`,
    );
  }
  const [parameters, buffers] = [namesKeys.parameters, namesKeys.buffers].map((name) => {
    const list = metadataProps.find(({ key }) => key === name)?.value;
    return list === undefined ? undefined : (JSON.parse(list) as string[]);
  });
  const marked = parameters && buffers && { parameters, buffers };
  return { opset, graph: graphOf(graph, readExternal), marked };
}

function messageOf(bytes: Uint8Array): ModelMessage {
  try {
    const options = { longs: Number, defaults: true, arrays: true };
    return ModelProto.toObject(ModelProto.decode(bytes), options) as unknown as ModelMessage;
  } catch (cause) {
    throw new ArgumentError(
      `importOnnx: expected an ONNX model, got ${bytes.length} bytes that are not one. Pass the bytes or the path of an .onnx file.`,
      { cause },
    );
  }
}

function graphOf(graph: GraphMessage, readExternal: ReadExternal): OnnxGraph {
  const initializers = new Map(
    graph.initializer.map((tensor) => [tensor.name, decodeTensor(tensor, readExternal)]),
  );
  return {
    nodes: graph.node.map((node) => nodeOf(node, readExternal)),
    initializers,
    // Before IR version 4, initializers are inputs, too.
    inputs: graph.input.filter(({ name }) => !initializers.has(name)).map(inputOf),
    outputs: graph.output.map(({ name }) => name),
  };
}

function inputOf({ name, type }: ValueInfoMessage): OnnxInput {
  const tensor = type?.tensorType;
  return {
    name,
    dtype: tensor ? dtypeOfCode(tensor.elemType) : undefined,
    shape: tensor?.shape?.dim.map(sizeOrName),
  };
}

/** protobuf's defaults stand for what is not told. */
function sizeOrName({ dimValue, dimParam }: DimensionMessage): number | string | undefined {
  if (dimParam !== undefined && dimParam !== '') return dimParam;
  return dimValue === 0 ? undefined : dimValue;
}

function nodeOf(node: NodeMessage, readExternal: ReadExternal): OnnxNode {
  return {
    op: node.opType,
    domain: node.domain === 'ai.onnx' ? '' : node.domain,
    name: node.name || node.output[0],
    inputs: node.input,
    outputs: node.output,
    attributes: new Map(
      node.attribute.flatMap((attribute) => {
        const content = contentOf(attribute, readExternal);
        return content === undefined ? [] : [[attribute.name, content] as const];
      }),
    ),
  };
}

/** Undefined for types that no supported operator has. */
function contentOf(attribute: AttributeMessage, readExternal: ReadExternal): AttributeContent | undefined {
  switch (attribute.type) {
    case attributeTypeCode.float:
      // The shortest number of these float32 bits, such as 1e-5.
      return Number(attribute.f.toPrecision(7));
    case attributeTypeCode.int:
      return attribute.i;
    case attributeTypeCode.string:
      return new TextDecoder().decode(attribute.s);
    case attributeTypeCode.tensor:
      return decodeTensor(attribute.t!, readExternal);
    case attributeTypeCode.graph:
      return graphOf(attribute.g!, readExternal);
    case attributeTypeCode.floats:
      return attribute.floats;
    case attributeTypeCode.ints:
      return attribute.ints;
    default:
      return undefined;
  }
}
