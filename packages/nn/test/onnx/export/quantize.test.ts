import * as ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import {
  F,
  arange,
  exportOnnx,
  manualSeed,
  nn,
  type ExportOptions,
  type Tensor,
} from '../../../src/index.ts';
import { ModelProto } from '../../../src/onnx-format/schema.ts';
import { quantizePerChannel } from '../../../src/onnx/export/quantize-per-channel.ts';
import { sizeOf } from '../../../src/value-type.ts';
import { fill, fillClasses } from '../../support/fill.ts';
import '../../support/one-thread.ts';

/** Tokens with positions, causal attention, and one matrix for embedding and logits, as in GPT-2. */
class Gpt extends nn.Module {
  readonly wte = new nn.Embedding(512, 64);
  readonly wpe = new nn.Embedding(16, 64);
  readonly blocks = new nn.TransformerEncoder(
    new nn.TransformerEncoderLayer(64, 4, 256, { batchFirst: true, normFirst: true, activation: 'gelu' }),
    2,
  );

  forward(tokens: Tensor): Tensor {
    const x = this.wte.forward(tokens).add(this.wpe.forward(arange(tokens.shape[1])));
    return F.linear(this.blocks.forward(x, { isCausal: true }), this.wte.weight);
  }
}

/** A classifier on an encoder whose padding is masked, as in BERT. */
class Bert extends nn.Module {
  readonly words = new nn.Embedding(512, 64);
  readonly norm = new nn.LayerNorm(64);
  readonly encoder = new nn.TransformerEncoder(
    new nn.TransformerEncoderLayer(64, 4, 256, { batchFirst: true, activation: 'gelu' }),
    2,
  );
  readonly pooler = new nn.Linear(64, 64);
  readonly classifier = new nn.Linear(64, 4);

  forward(tokens: Tensor): Tensor {
    const states = this.encoder.forward(this.norm.forward(this.words.forward(tokens)), {
      srcKeyPaddingMask: tokens.eq(0),
    });
    return this.classifier.forward(this.pooler.forward(states.select(1, 0)).tanh());
  }
}

class Recurrent extends nn.Module {
  readonly lstm = new nn.LSTM(32, 64, { batchFirst: true });
  readonly head = new nn.Linear(64, 5);

  forward(x: Tensor): Tensor {
    const [states] = this.lstm.forward(x);
    return this.head.forward(states.select(1, -1));
  }
}

const mlp = () =>
  new nn.Sequential(
    new nn.Linear(64, 256),
    new nn.ReLU(),
    new nn.Linear(256, 256),
    new nn.ReLU(),
    new nn.Linear(256, 10),
  );
const cnn = () =>
  new nn.Sequential(
    new nn.Conv2d(3, 32, 3, { padding: 1 }),
    new nn.BatchNorm2d(32),
    new nn.ReLU(),
    new nn.Conv2d(32, 64, 3, { stride: 2, padding: 1, groups: 2, bias: false }),
    new nn.ReLU(),
    new nn.Flatten(2),
    new nn.Conv1d(64, 32, 3),
    new nn.ReLU(),
    new nn.Flatten(),
    new nn.Linear(32 * 62, 10),
  );

const floats = (...shape: number[]) => new ort.Tensor('float32', fill(shape, 3), shape);
const tokens = (...shape: number[]) => new ort.Tensor('int64', fillClasses(sizeOf(shape), 512, 3), shape);
const words = (length: number): ExportOptions => ({
  inputs: [{ name: 'input', shape: [1, length], dtype: 'int64' }],
});

describe("quantize: 'int8'", () => {
  test.each([
    { name: 'an MLP', of: mlp, options: { inputShape: [1, 64] }, input: floats(64, 64), smaller: 3.7 },
    {
      name: 'a CNN',
      of: cnn,
      options: { inputShape: [1, 3, 16, 16] },
      input: floats(16, 3, 16, 16),
      smaller: 3.4,
    },
    { name: 'a GPT', of: () => new Gpt(), options: words(16), input: tokens(4, 16), smaller: 3 },
    { name: 'a BERT', of: () => new Bert(), options: words(16), input: tokens(16, 16), smaller: 3 },
    {
      name: 'an LSTM',
      of: () => new Recurrent(),
      options: { inputShape: [1, 6, 32] },
      input: floats(32, 6, 32),
      smaller: 2,
    },
  ])(
    'keeps the outputs of $name in a file that is $smaller times smaller',
    async ({ of, options, input, smaller }) => {
      manualSeed(1);
      const model = of();
      const exact = exportOnnx(model, options);
      const quantized = exportOnnx(model, { ...options, quantize: 'int8' });
      const [expected, actual] = await Promise.all([outputOf(exact, input), outputOf(quantized, input)]);
      expect(actual.dims).toEqual(expected.dims);
      const { error, agreeing } = compared(actual, expected);
      expect(error).toBeLessThan(0.04);
      // Quantized activations do not compute the same bits.
      expect(error).toBeGreaterThan(1e-6);
      expect(agreeing).toBeGreaterThan(0.9);
      expect(exact.length / quantized.length).toBeGreaterThan(smaller);
    },
  );

  test('stores a weight that is shared by an embedding and a product once, without float32', () => {
    const model = new Gpt();
    const arrays = initializersOf(exportOnnx(model, { ...words(16), quantize: 'int8' }));
    expect(arrays.filter(({ name }) => name.startsWith('wte')).map(({ name, dims }) => [name, dims])).toEqual(
      [
        ['wte.weight_quantized', [512, 64]],
        ['wte.weight_scale', [512]],
        ['wte.weight_zero_point', []],
      ],
    );
  });

  test('multiplies and convolves integers, and keeps biases in float32', () => {
    const { graph } = decoded(exportOnnx(cnn(), { inputShape: [1, 3, 16, 16], quantize: 'int8' }));
    const operators = graph.node.map(({ opType }) => opType);
    const counts = ['ConvInteger', 'MatMulInteger', 'DynamicQuantizeLinear', 'Conv', 'Gemm', 'MatMul'].map(
      (name) => operators.filter((operator) => operator === name).length,
    );
    expect(counts).toEqual([3, 1, 4, 0, 0, 0]);
    const types = new Map(graph.initializer.map(({ name, dataType }) => [name, dataType]));
    expect(types.get('0.weight_quantized')).toBe(2);
    expect(types.get('0.bias')).toBe(1);
    expect(types.has('0.weight')).toBe(false);
  });

  test('quantizes an activation once for the products that read it', () => {
    class Heads extends nn.Module {
      readonly left = new nn.Linear(4, 3);
      readonly right = new nn.Linear(4, 3, { bias: false });
      forward(x: Tensor): Tensor {
        return this.left.forward(x).mul(this.right.forward(x));
      }
    }
    const { graph } = decoded(exportOnnx(new Heads(), { inputShape: [1, 4], quantize: 'int8' }));
    expect(graph.node.filter(({ opType }) => opType === 'DynamicQuantizeLinear')).toHaveLength(1);
  });

  test('keeps a weight in float32 that another operation reads too', async () => {
    class Decayed extends nn.Module {
      readonly linear = new nn.Linear(8, 8);
      forward(x: Tensor): Tensor {
        return this.linear.forward(x).add(this.linear.weight.square().sum());
      }
    }
    const model = new Decayed();
    const bytes = exportOnnx(model, { inputShape: [1, 8], quantize: 'int8' });
    expect(initializersOf(bytes).map(({ name }) => name)).toContain('linear.weight');
    const exact = await outputOf(exportOnnx(model, { inputShape: [1, 8] }), floats(4, 8));
    expect(compared(await outputOf(bytes, floats(4, 8)), exact).error).toBeLessThan(0.02);
  });

  test('quantizes a weight for both of its axes if products read both', async () => {
    class Autoencoder extends nn.Module {
      readonly weight = new nn.Linear(16, 4, { bias: false }).weight;
      forward(x: Tensor): Tensor {
        return F.linear(x, this.weight).tanh().matmul(this.weight);
      }
    }
    const model = new Autoencoder();
    const bytes = exportOnnx(model, { inputShape: [1, 16], quantize: 'int8' });
    const scales = initializersOf(bytes).filter(({ name }) => name.startsWith('weight_scale'));
    expect(scales.map(({ dims }) => dims)).toEqual([[4], [16]]);
    const exact = await outputOf(exportOnnx(model, { inputShape: [1, 16] }), floats(4, 16));
    expect(compared(await outputOf(bytes, floats(4, 16)), exact).error).toBeLessThan(0.02);
  });

  test('exports a model without weights of products as it is', () => {
    const model = new nn.Sequential(new nn.LayerNorm(6), new nn.ReLU());
    const options = { inputShape: [1, 6] };
    expect(exportOnnx(model, { ...options, quantize: 'int8' })).toEqual(exportOnnx(model, options));
  });

  test('rejects another kind of quantization, and weights that are not finite', () => {
    const model = new nn.Linear(2, 2);
    const options = { inputShape: [1, 2] };
    expect(() => exportOnnx(model, { ...options, quantize: 'int4' as 'int8' })).toThrow(
      "exportOnnx: quantize must be 'int8', got 'int4'.",
    );
    model.weight.data[3] = NaN;
    expect(() => exportOnnx(model, { ...options, quantize: 'int8' })).toThrow(
      "exportOnnx: quantize 'int8' requires finite weights, got NaN or Infinity in weight.",
    );
  });
});

test('each channel has its scale: its largest weight becomes 1 or 255, and 0 becomes 128', () => {
  const weight = Float32Array.of(1, -2, 0, 0, 0, 0, 1e-45, 0.5, -0.25);
  const rows = quantizePerChannel(weight, [3, 3], 0);
  expect([...rows.integers]).toEqual([192, 1, 128, 128, 128, 128, 128, 255, 64]);
  expect([...rows.scales]).toEqual([2 / 127, 1, 0.5 / 127].map(Math.fround));
  const columns = quantizePerChannel(weight, [3, 3], 1);
  expect([...columns.integers]).toEqual([255, 1, 128, 128, 128, 128, 128, 160, 1]);
  expect([...columns.scales]).toEqual([1 / 127, 2 / 127, 0.25 / 127].map(Math.fround));
});

async function outputOf(bytes: Uint8Array, input: ort.Tensor): Promise<ort.Tensor> {
  const session = await ort.InferenceSession.create(bytes, { intraOpNumThreads: 1 });
  return (await session.run({ input })).output;
}

/** The relative error, and the share of rows with the same largest element. */
function compared(actual: ort.Tensor, expected: ort.Tensor): { error: number; agreeing: number } {
  const [given, exact] = [actual, expected].map(({ data }) => data as Float32Array);
  const norm = (values: Float32Array) => Math.hypot(...values);
  const classes = expected.dims.at(-1)!;
  const rows = exact.length / classes;
  const largest = (values: Float32Array, row: number) => {
    const part = values.subarray(row * classes, (row + 1) * classes);
    return part.indexOf(Math.max(...part));
  };
  let agreeing = 0;
  for (let row = 0; row < rows; row += 1) agreeing += Number(largest(given, row) === largest(exact, row));
  return {
    error: norm(given.map((value, index) => value - exact[index])) / norm(exact),
    agreeing: agreeing / rows,
  };
}

interface Decoded {
  readonly graph: {
    readonly node: readonly { readonly opType: string }[];
    readonly initializer: readonly {
      readonly name: string;
      readonly dataType: number;
      readonly dims: readonly number[];
    }[];
  };
}

function decoded(bytes: Uint8Array): Decoded {
  return ModelProto.toObject(ModelProto.decode(bytes), { longs: Number, arrays: true }) as Decoded;
}

function initializersOf(bytes: Uint8Array): Decoded['graph']['initializer'] {
  return decoded(bytes).graph.initializer;
}
