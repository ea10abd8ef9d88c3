import { arrayFrom, type DType, type Scalar, type TensorData } from '../dtype.ts';
import { exactJson } from './exact-json.ts';
import { ModelProto } from './schema.ts';
import { attributeTypeCode, dataTypeCode } from './type-codes.ts';

/** ONNX opset and IR version of every exported or compiled graph. */
const opsetVersion = 20;
const irVersion = 9;

/** Domain of the operators that the addon implements (native/src/onnxruntime/operators), and its version. */
const ownDomain = 'ringrun';
const ownVersion = 1;

/** An attribute of an ONNX node: numbers are integers unless wrapped as `{ float }`. */
export type AttributeValue = number | string | readonly number[] | { readonly float: number } | Branch;

/** The attributes of an ONNX node. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A branch of ONNX's If. */
export interface Branch {
  readonly graph: object;
}

/** A dimension of a graph's input or output: a size, the name of a dynamic dimension, or undefined (unspecified). */
export type Dimension = number | string | undefined;

/** An element type of a model's arrays: uint8 for quantized weights. */
export type StoredType = DType | 'uint8';

/** Collects nodes, constants, inputs and outputs, and encodes them as an ONNX model. */
export class GraphBuilder {
  #nodes: object[] = [];
  readonly #initializers: object[] = [];
  readonly #inputs: object[] = [];
  readonly #outputs: object[] = [];
  readonly #values: object[] = [];
  readonly #constants = new Map<string, string>();
  readonly #metadata: object[] = [];
  #names = 0;
  #hasOwnOperators = false;

  input(name: string, dtype: DType, shape: readonly Dimension[]): void {
    this.#inputs.push(valueInfo(name, dtype, shape));
  }

  output(name: string, dtype: DType, shape: readonly Dimension[]): void {
    this.#outputs.push(valueInfo(name, dtype, shape));
  }

  /** Declares the type of a value that onnxruntime cannot infer, so that it can plan its memory. */
  value(name: string, dtype: DType, shape: readonly Dimension[]): void {
    this.#values.push(valueInfo(name, dtype, shape));
  }

  /** Adds a named constant, such as a parameter of an exported model. */
  initializer(name: string, dtype: StoredType, shape: readonly number[], data: TensorData): void {
    const rawData = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.#initializers.push({ name, dataType: dataTypeCode[dtype], dims: shape, rawData });
  }

  /** Adds a small constant, such as the axes of a reduction. Equal constants share one name. */
  constant(dtype: DType, shape: readonly number[], values: readonly Scalar[]): string {
    const key = `${dtype}[${shape.join()}]:${exactJson(values)}`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.freshName('constant');
    this.initializer(name, dtype, shape, arrayFrom(dtype, values));
    this.#constants.set(key, name);
    return name;
  }

  /** Adds a node with named outputs. */
  node(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
  ): void {
    this.#addNode({ opType }, inputs, outputs, attributes);
  }

  /**
   * Adds a node of an operator of the addon. The model then runs only on ringrun's sessions.
   *
   * @param refusal beginning of the error if a run rejects the user's values at this node. Default: none.
   */
  ownNode(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
    refusal?: string,
  ): void {
    // ONNX requires unique node names.
    const name = refusal && this.freshName(`${refusal}#`);
    this.#addNode({ ...(name && { name }), opType, domain: ownDomain }, inputs, outputs, attributes);
    this.#hasOwnOperators = true;
  }

  #addNode(
    operator: { opType: string; domain?: string; name?: string },
    input: readonly string[],
    output: readonly string[],
    attributes: Attributes,
  ): void {
    const attribute = Object.entries(attributes).map(([name, value]) => encodeAttribute(name, value));
    this.#nodes.push({ ...operator, input, output, attribute });
  }

  /**
   * Builds a branch of an If. It can read values of the enclosing graph.
   *
   * @param dtypes of the outputs
   * @param build adds the nodes and returns the names of the outputs
   */
  branch(dtypes: readonly DType[], build: () => readonly string[]): Branch {
    const outside = this.#nodes;
    const node: object[] = [];
    this.#nodes = node;
    try {
      const output = build().map((name, position) => ({
        name,
        type: { tensorType: { elemType: dataTypeCode[dtypes[position]] } },
      }));
      return { graph: { name: this.freshName('branch'), node, output } };
    } finally {
      this.#nodes = outside;
    }
  }

  /** Adds an entry to the model's metadata. */
  metadata(key: string, value: string): void {
    this.#metadata.push({ key, value });
  }

  freshName(prefix: string): string {
    this.#names += 1;
    return `${prefix}_${this.#names}`;
  }

  /** The model's bytes, in ONNX's protobuf format. */
  encode(): Uint8Array {
    const graph = {
      name: 'ringrun',
      node: this.#nodes,
      initializer: this.#initializers,
      input: this.#inputs,
      output: this.#outputs,
      valueInfo: this.#values,
    };
    const opsetImport = [{ domain: '', version: opsetVersion }];
    if (this.#hasOwnOperators) opsetImport.push({ domain: ownDomain, version: ownVersion });
    const metadataProps = this.#metadata;
    const model = { irVersion, producerName: 'ringrun', graph, opsetImport, metadataProps };
    return ModelProto.encode(model).finish();
  }
}

function valueInfo(name: string, dtype: DType, shape: readonly Dimension[]): object {
  const dim = shape.map((size) => {
    if (size === undefined) return {};
    return typeof size === 'number' ? { dimValue: size } : { dimParam: size };
  });
  return { name, type: { tensorType: { elemType: dataTypeCode[dtype], shape: { dim } } } };
}

function encodeAttribute(name: string, value: AttributeValue): object {
  if (typeof value === 'number') return { name, i: value, type: attributeTypeCode.int };
  if (typeof value === 'string') {
    return { name, s: new TextEncoder().encode(value), type: attributeTypeCode.string };
  }
  if ('graph' in value) return { name, g: value.graph, type: attributeTypeCode.graph };
  if ('float' in value) return { name, f: value.float, type: attributeTypeCode.float };
  return { name, ints: value, type: attributeTypeCode.ints };
}
