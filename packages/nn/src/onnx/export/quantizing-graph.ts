import type { TensorData } from '../../dtype.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { GraphBuilder, type Attributes, type StoredType } from '../../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../../onnx-format/type-codes.ts';
import { quantizePerChannel, zeroPoint } from './quantize-per-channel.ts';

/**
 * Stores the weights of matrix products, convolutions and embeddings as uint8 (onnxruntime's quantize_dynamic).
 *
 * A product quantizes its other factor when it runs (DynamicQuantizeLinear), multiplies integers and scales the sums, which
 * onnxruntime fuses. Everything else, such as biases, stays float32. Weights are not int8, for which onnxruntime's sums of pairs
 * saturate on processors with AVX2 only, and ConvInteger is slower.
 */
export class QuantizingGraph extends GraphBuilder {
  readonly #weights: ReadonlySet<string>;
  readonly #initializers = new Map<string, Initializer>();
  /** Initializers that a node reads in float32. */
  readonly #readAsFloats = new Set<string>();
  readonly #quantizedWeights = new Map<string, Quantized>();
  readonly #quantizedActivations = new Map<string, QuantizedActivation>();

  /** @param weights names of the initializers that may be quantized */
  constructor(weights: ReadonlySet<string>) {
    super();
    this.#weights = weights;
  }

  // Written by `encode`, because the nodes decide which weights are needed in float32.
  override initializer(name: string, dtype: StoredType, shape: readonly number[], data: TensorData): void {
    this.#initializers.set(name, { dtype, shape, data });
  }

  override node(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
  ): void {
    if (this.#writeQuantized(opType, inputs, outputs, attributes)) return;
    for (const name of inputs) this.#readAsFloats.add(name);
    super.node(opType, inputs, outputs, attributes);
  }

  override encode(): Uint8Array {
    const replaced = new Set([...this.#quantizedWeights.values()].map(({ of }) => of));
    for (const [name, { dtype, shape, data }] of this.#initializers) {
      const isNeeded = !replaced.has(name) || this.#readAsFloats.has(name);
      if (isNeeded) super.initializer(name, dtype, shape, data);
    }
    return super.encode();
  }

  /** False for a node that stays in float32. */
  #writeQuantized(
    opType: string,
    inputs: readonly string[],
    [output]: readonly string[],
    attributes: Attributes,
  ): boolean {
    const [first, second, bias] = inputs;
    if (opType === 'Gather' && attributes.axis === 0 && this.#isWeight(first, [2])) {
      this.#lookUp(this.#weight(first, 0), second, output);
      return true;
    }
    if (opType === 'Conv' && this.#isWeight(second, [3, 4, 5])) {
      this.#convolve(first, this.#weight(second, 0), bias, output, attributes);
      return true;
    }
    const isProduct = opType === 'MatMul' || (opType === 'Gemm' && attributes.transA === 0);
    if (isProduct && this.#isWeight(second, [2])) {
      const transposes = attributes.transB === 1;
      this.#multiply(first, this.#weight(second, transposes ? 0 : 1), transposes, bias, output);
      return true;
    }
    return false;
  }

  #isWeight(name: string, ranks: readonly number[]): boolean {
    return this.#weights.has(name) && ranks.includes(this.#initializers.get(name)!.shape.length);
  }

  /** @param axis dimension of the channels, each of which has its scale */
  #weight(name: string, axis: number): Quantized {
    const key = JSON.stringify([name, axis]);
    const known = this.#quantizedWeights.get(key);
    if (known !== undefined) return known;
    const { shape, data } = this.#initializers.get(name)!;
    const { integers, scales } = quantizePerChannel(data as Float32Array, shape, axis);
    if (!scales.every(Number.isFinite))
      throw new ArgumentError(
        `exportOnnx: quantize 'int8' requires finite weights, got NaN or Infinity in ${name}. Export without quantize, or repair the weights.`,
      );
    const quantized = {
      of: name,
      shape,
      integers: this.#store(`${name}_quantized`, 'uint8', shape, integers),
      scale: this.#store(`${name}_scale`, 'float32', [scales.length], scales),
      zeroPoint: this.#store(`${name}_zero_point`, 'uint8', [], Uint8Array.of(zeroPoint)),
    };
    this.#quantizedWeights.set(key, quantized);
    return quantized;
  }

  /** Adds an initializer, under another name if a parameter or another form of the weight has this one. */
  #store(name: string, dtype: StoredType, shape: readonly number[], data: TensorData): string {
    const free = this.#initializers.has(name) ? this.freshName(name) : name;
    this.initializer(free, dtype, shape, data);
    return free;
  }

  /** The rows of an embedding, each with its scale. */
  #lookUp(table: Quantized, indices: string, output: string): void {
    const rows = this.#add('Gather', [table.integers, indices], { axis: 0 });
    const unscaled = [rows, this.constant('float32', [], [1]), table.zeroPoint];
    const scales = this.#add('Reshape', [table.scale, this.constant('int64', [2], [-1, 1])]);
    const scale = this.#add('Gather', [scales, indices], { axis: 0 });
    super.node('Mul', [this.#add('DequantizeLinear', unscaled), scale], [output]);
  }

  #multiply(
    x: string,
    weight: Quantized,
    transposes: boolean,
    bias: string | undefined,
    output: string,
  ): void {
    // onnxruntime transposes constants once, when it loads the model.
    const integers = transposes
      ? this.#add('Transpose', [weight.integers], { perm: [1, 0] })
      : weight.integers;
    const activation = this.#activation(x);
    const sums = this.#add('MatMulInteger', [
      activation.integers,
      integers,
      activation.zeroPoint,
      weight.zeroPoint,
    ]);
    this.#rescale(sums, this.#add('Mul', [activation.scale, weight.scale]), bias, output);
  }

  #convolve(
    x: string,
    weight: Quantized,
    bias: string | undefined,
    output: string,
    attributes: Attributes,
  ): void {
    const activation = this.#activation(x);
    const inputs = [activation.integers, weight.integers, activation.zeroPoint, weight.zeroPoint];
    const sums = this.#add('ConvInteger', inputs, attributes);
    const channels = this.constant(
      'int64',
      [weight.shape.length - 1],
      [-1, ...weight.shape.slice(2).map(() => 1)],
    );
    const perChannel = (name: string) => this.#add('Reshape', [name, channels]);
    const scale = this.#add('Mul', [activation.scale, perChannel(weight.scale)]);
    this.#rescale(sums, scale, bias === undefined ? undefined : perChannel(bias), output);
  }

  #rescale(sums: string, scale: string, bias: string | undefined, output: string): void {
    const terms = [this.#add('Cast', [sums], { to: dataTypeCode.float32 }), scale];
    if (bias === undefined) super.node('Mul', terms, [output]);
    else super.node('Add', [this.#add('Mul', terms), bias], [output]);
    if (bias !== undefined) this.#readAsFloats.add(bias);
  }

  /** The elements of an activation as uint8. Nodes that read the same activation share them. */
  #activation(name: string): QuantizedActivation {
    const known = this.#quantizedActivations.get(name);
    if (known !== undefined) return known;
    const [integers, scale, zeroPoint] = ['integers', 'scale', 'zero_point'].map((part) =>
      this.freshName(`quantized_${part}`),
    );
    this.#readAsFloats.add(name);
    super.node('DynamicQuantizeLinear', [name], [integers, scale, zeroPoint]);
    const quantized = { integers, scale, zeroPoint };
    this.#quantizedActivations.set(name, quantized);
    return quantized;
  }

  #add(opType: string, inputs: readonly string[], attributes: Attributes = {}): string {
    const name = this.freshName(`quantized_${opType}`);
    for (const input of inputs) this.#readAsFloats.add(input);
    super.node(opType, inputs, [name], attributes);
    return name;
  }
}

interface Initializer {
  readonly dtype: StoredType;
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** Names of the parts of a quantized array. */
interface QuantizedActivation {
  readonly integers: string;
  readonly scale: string;
  readonly zeroPoint: string;
}

interface Quantized extends QuantizedActivation {
  /** The weight in float32. */
  readonly of: string;
  readonly shape: readonly number[];
}
