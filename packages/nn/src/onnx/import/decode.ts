import { ArgumentError } from '../../errors/errors.ts';
import type { DType } from '../../dtype.ts';
import { ModelProto, namesKeys } from '../../onnx-format/schema.ts';
import { attributeTypeCode } from '../../onnx-format/type-codes.ts';
import type { ConstantArray } from './constant-array.ts';
import { decodeTensor, type TensorMessage } from './decode-tensor.ts';
import { dtypeOf, formatOfCode, nameOfCode, type ElementType } from './element-type.ts';
import type { ReadExternal } from './external-data.ts';

/** A decoded ONNX model. */
export interface OnnxModel {
  /** Version of the standard operators. */
  readonly opset: number;
  readonly graph: OnnxGraph;
  /** Names of the initializers that `exportOnnx` marked; undefined for models from other exporters. */
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
  /** Element types of the inputs; undefined: unspecified. */
  readonly inputTypes: readonly (ElementType | undefined)[];
  readonly outputs: readonly string[];
}

/** An input of a model. */
export interface OnnxInput {
  /** Name in the model. */
  readonly name: string;
  /** Undefined: unspecified, or not supported by ringrun. */
  readonly dtype: DType | undefined;
  /** Undefined: unspecified. Its sizes are those of an example, names of dynamic dimensions, or undefined. */
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
  readonly attributes: ReadonlyMap<string, OnnxAttribute>;
}

/** An attribute as stored in the file. */
export interface OnnxAttribute {
  /** onnx.AttributeProto.AttributeType. */
  readonly type: number;
  /** Undefined for types that no operator of the table reads. */
  readonly content: AttributeContent | undefined;
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
  // Before IR version 4, initializers are inputs too.
  const inputs = graph.input.filter(({ name }) => !initializers.has(name));
  return {
    nodes: graph.node.map((node) => nodeOf(node, readExternal)),
    initializers,
    inputs: inputs.map(inputOf),
    inputTypes: inputs.map(elementTypeOf),
    outputs: graph.output.map(({ name }) => name),
  };
}

function inputOf(info: ValueInfoMessage): OnnxInput {
  const type = elementTypeOf(info);
  return {
    name: info.name,
    dtype: type && dtypeOf(type),
    shape: info.type?.tensorType?.shape?.dim.map(sizeOrName),
  };
}

/** Undefined if the input has no type. */
function elementTypeOf({ name, type }: ValueInfoMessage): ElementType | undefined {
  if (!type) return undefined;
  const code = type.tensorType?.elemType;
  const format = code === undefined ? undefined : formatOfCode(code);
  if (format === undefined && code !== 0) {
    const got = code === undefined ? 'a sequence, a map or an optional' : nameOfCode(code);
    throw new ArgumentError(
      `importOnnx: expected tensors of floats, integers or bool as inputs, got ${got} for ${name}. Export the model without it.`,
    );
  }
  return format?.type;
}

/** Missing fields have protobuf's defaults. */
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
      node.attribute.map((attribute) => [
        attribute.name,
        { type: attribute.type, content: contentOf(attribute, readExternal) },
      ]),
    ),
  };
}

function contentOf(attribute: AttributeMessage, readExternal: ReadExternal): AttributeContent | undefined {
  switch (attribute.type) {
    case attributeTypeCode.float:
      return attribute.f;
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
