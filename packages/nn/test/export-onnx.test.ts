import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { destroyProcessGroup, DistributedDataParallel, initProcessGroup } from 'ringrun';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  arange,
  ArgumentError,
  cat,
  exportOnnx,
  F,
  importOnnx,
  manualSeed,
  nn,
  Parameter,
  stack,
  tensor,
  type ExportInput,
  type ExportOptions,
  type Tensor,
} from '../src/index.ts';
import { ModelProto } from '../src/onnx-format/schema.ts';
import { fill } from './fill.ts';
import { MnistCnn } from './mnist-cnn.ts';
import { expectClose } from './numeric.ts';

interface DecodedModel {
  readonly graph: {
    readonly initializer: readonly { readonly name: string; readonly rawData: Uint8Array }[];
  };
}

test('plain onnxruntime loads the file and computes the same for any batch', async () => {
  manualSeed(3);
  const model = new MnistCnn();
  const folder = await mkdtemp(join(tmpdir(), 'ringrun-export-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'mnist.onnx');
  await writeFile(file, exportOnnx(model, { inputShape: [1, 1, 28, 28] }));

  const session = await ort.InferenceSession.create(file);
  expect(session.inputNames).toEqual(['input']);
  expect(session.outputNames).toEqual(['output']);
  expect(session.inputMetadata[0]).toMatchObject({ type: 'float32', shape: ['batch', 1, 28, 28] });
  expect(session.outputMetadata[0]).toMatchObject({ type: 'float32', shape: ['batch', 10] });
  for (const batch of [1, 3, 20]) {
    const shape = [batch, 1, 28, 28];
    const data = fill(shape, batch);
    const { output } = await session.run({ input: new ort.Tensor('float32', data, shape) });
    expect(output.dims).toEqual([batch, 10]);
    const expected = (await model.forward(tensor(data, shape)).array()) as Float32Array;
    expectClose(`batch of ${batch}`, output.data as Float32Array, expected, 1e-6);
  }
});

test('parameters are initializers under their names, as they are at that moment', () => {
  const model = new MnistCnn();
  const bytes = exportOnnx(model, { inputShape: [1, 1, 28, 28] });
  const { graph } = ModelProto.decode(bytes) as unknown as DecodedModel;
  const stored = new Map(graph.initializer.map(({ name, rawData }) => [name, rawData]));
  const parameters = [...model.namedParameters()];
  expect(parameters.map(([name]) => name)).toEqual(
    ['conv1', 'conv2', 'fc1', 'fc2'].flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]),
  );
  for (const [name, { data }] of parameters) {
    expect(Buffer.from(stored.get(name)!).equals(Buffer.from(data.buffer)), name).toBe(true);
  }
});

test('layers of every kind leave the batch open', async () => {
  class Mixed extends nn.Module {
    readonly features = new nn.Sequential(
      new nn.Conv2d(1, 4, 3, { padding: 'same' }),
      new nn.BatchNorm2d(4),
      new nn.GELU(),
      new nn.AvgPool2d(2, { padding: 1, countIncludePad: false }),
      new nn.AdaptiveAvgPool2d([3, 2]),
    );
    readonly norm = new nn.LayerNorm([3, 2]);
    readonly rows = new nn.Linear(2, 5);
    readonly head = new nn.Sequential(
      new nn.Flatten(),
      new nn.Dropout(),
      new nn.Linear(60, 3),
      new nn.Softmax(1),
    );

    forward(images: Tensor): Tensor {
      const x = this.rows.forward(this.norm.forward(this.features.forward(images)));
      const mixed = x.matmul(x.transpose(-1, -2)).matmul(x);
      return this.head.forward(
        cat([mixed.flatten(0, 1).view(-1, 4, 3, 5).tanh(), x], 1)
          .amax([1], true)
          .add(x),
      );
    }
  }
  const model = new Mixed();
  const session = await ort.InferenceSession.create(exportOnnx(model, { inputShape: [2, 1, 7, 6] }));
  for (const batch of [1, 5]) {
    const shape = [batch, 1, 7, 6];
    const data = fill(shape, batch);
    const { output } = await session.run({ input: new ort.Tensor('float32', data, shape) });
    const expected = (await model.eval().forward(tensor(data, shape)).array()) as Float32Array;
    expectClose(`batch of ${batch}`, output.data as Float32Array, expected, 1e-6);
  }
});

test('input and output are named on request', async () => {
  const options = { inputShape: [1, 4], inputName: 'features', outputName: 'scores' };
  const session = await ort.InferenceSession.create(exportOnnx(new nn.Linear(4, 2), options));
  expect([session.inputNames, session.outputNames]).toEqual([['features'], ['scores']]);
});

test('a tensor that is neither the input nor a parameter is refused', () => {
  class Shifted extends nn.Module {
    readonly scale = new Parameter(Float32Array.of(2), [1]);
    readonly #shift: Tensor = tensor(Float32Array.of(1));

    forward(input: Tensor): Tensor {
      return F.relu(input.mul(this.scale).add(this.#shift));
    }
  }
  expect(() => exportOnnx(new Shifted(), { inputShape: [1, 3] })).toThrow(ArgumentError);
});

describe('an open batch', () => {
  /** A model of one function and one layer. */
  class Model extends nn.Module {
    readonly layer = new nn.Linear(4, 3);
    readonly #compute: (x: Tensor, layer: nn.Linear) => Tensor;

    constructor(compute: (x: Tensor, layer: nn.Linear) => Tensor) {
      super();
      this.#compute = compute;
    }

    forward(x: Tensor): Tensor {
      return this.#compute(x, this.layer);
    }
  }

  const rows = (x: Tensor) => x.shape[0];
  const cases: Record<string, (x: Tensor, layer: nn.Linear) => Tensor> = {
    'view of its size': (x) => x.view(rows(x), 8),
    'view that joins it with another': (x, layer) => layer.forward(x.view(rows(x) * 2, 4)).view(rows(x), 6),
    'view with -1 beside it': (x) => x.view(rows(x), -1).view(-1),
    'view behind another axis': (x) => x.permute(1, 0, 2).view(2, rows(x) * 4),
    'division by its size': (x) => x.sum([0]).div(rows(x)),
    'numbers that follow from it': (x) =>
      x
        .mul(1 / rows(x))
        .add(rows(x) + 0.5)
        .sub(3 / (rows(x) + 1)),
    // 664 elements of each: from 99 on, onnxruntime is told otherwise.
    'reshape of a large array': (x) =>
      cat(Array<Tensor>(83).fill(x), 2).view(rows(x), 664).view(-1, 4, rows(x)),
    unsqueeze: (x, layer) => layer.forward(x).unsqueeze(0).unsqueeze(-1).add(x.mean()),
    stack: (x, layer) => stack([layer.forward(x), layer.forward(x).relu()], 1),
    'cat along it': (x) => cat([x, x.mul(2), x]),
    'matmul with itself': (x) => x.view(rows(x), 8).matmul(x.view(rows(x), 8).transpose(0, 1)),
  };

  test.each(Object.entries(cases))('%s', async (_, compute) => {
    const model = new Model(compute);
    const bytes = exportOnnx(model, { inputShape: [1, 2, 4] });
    const session = await ort.InferenceSession.create(bytes);
    for (const batch of [1, 2, 5]) {
      const shape = [batch, 2, 4];
      const data = fill(shape, batch);
      const { output } = await session.run({ input: new ort.Tensor('float32', data, shape) });
      const expected = model.forward(tensor(data, shape));
      expect(output.dims).toEqual(expected.shape);
      expectClose(
        `batch of ${batch}`,
        output.data as Float32Array,
        (await expected.array()) as Float32Array,
        1e-6,
      );
    }
  });

  test('dimensions of outputs are numbers, the batch, or a formula of it', async () => {
    const shapes = async (compute: (x: Tensor) => Tensor) => {
      const session = await ort.InferenceSession.create(
        exportOnnx(new Model(compute), { inputShape: [2, 2, 4] }),
      );
      return (session.outputMetadata[0] as ort.InferenceSession.TensorValueMetadata).shape;
    };
    expect(await shapes((x) => x.view(8, rows(x)))).toEqual([8, 'batch']);
    expect(await shapes((x) => x.view(rows(x) / 2, 16))).toEqual(['0.5*batch', 16]);
    expect(await shapes((x) => cat([x, x.sum([0], true)]))).toEqual(['batch+1', 2, 4]);
  });

  test.each([
    [
      'a size that no formula gives',
      (x: Tensor) => x.div(Math.sqrt(rows(x))),
      /in Div\(.*\).* is .* for a batch of 97/,
    ],
    [
      'another operation for another size',
      (x: Tensor) => (rows(x) > 100 ? x.relu() : x.exp()),
      /forward computes Exp\(.*97.*Relu\(.*101/,
    ],
    [
      'a size that is written out',
      (x: Tensor) => x.view(1, 8),
      /forward fails for a batch of 97: view: float32\[97,2,4\]/,
    ],
    [
      'the number of operations',
      (x: Tensor) => stack(Array.from({ length: rows(x) }, () => x)),
      /forward computes .* for a batch of 97/,
    ],
  ])('%s is refused, naming the operation', (_, compute, message) => {
    const refused = () => exportOnnx(new Model(compute), { inputShape: [1, 2, 4] });
    expect(refused).toThrow(ArgumentError);
    expect(refused).toThrow(message);
    expect(refused).toThrow('inputs: [{ shape, fixed: true }]');
  });

  test('may be fixed', async () => {
    const model = new Model((x) => x.div(Math.sqrt(rows(x))).view(3, 8));
    const bytes = exportOnnx(model, { inputs: [{ shape: [3, 2, 4], fixed: true }] });
    const session = await ort.InferenceSession.create(bytes);
    expect(session.inputMetadata[0]).toMatchObject({ shape: [3, 2, 4] });
    const data = fill([3, 2, 4], 1);
    const { output } = await session.run({ input: new ort.Tensor('float32', data, [3, 2, 4]) });
    const expected = await model.forward(tensor(data, [3, 2, 4])).array();
    expectClose('output', output.data as Float32Array, expected as Float32Array, 1e-6);
  });
});

describe('several inputs and outputs', () => {
  class Reader extends nn.Module {
    readonly words = new nn.Embedding(10, 6);
    readonly norm = new nn.BatchNorm1d(6);
    readonly head = new nn.Linear(6, 2);

    forward(tokens: Tensor, mask: Tensor, bias: Tensor): { scores: Tensor; mean: Tensor } {
      const words = this.words.forward(tokens).mul(mask.unsqueeze(-1));
      const pooled = words.sum([1]).div(mask.sum([1], true));
      return { scores: this.head.forward(this.norm.forward(pooled)).add(bias), mean: pooled.mean([0]) };
    }
  }
  const inputs = [
    { name: 'tokens', shape: [1, 5], dtype: 'int64' },
    { name: 'mask', shape: [1, 5] },
    { name: 'bias', shape: [2], fixed: true },
  ] as const;

  test('of int64 and float32 compute the same as the module for any batch, with DDP and buffers', async () => {
    const module = new Reader();
    // Running statistics of its own.
    await module.norm
      .forward(tensor(fill([7, 6], 1), [7, 6]))
      .sum()
      .backward();
    await initProcessGroup();
    onTestFinished(() => destroyProcessGroup());
    const wrapper = new DistributedDataParallel(module);
    const session = await ort.InferenceSession.create(exportOnnx(wrapper, { inputs }));
    expect([session.inputNames, session.outputNames]).toEqual([
      ['tokens', 'mask', 'bias'],
      ['scores', 'mean'],
    ]);
    expect(session.inputMetadata).toMatchObject([
      { type: 'int64', shape: ['batch', 5] },
      { type: 'float32', shape: ['batch', 5] },
      { type: 'float32', shape: [2] },
    ]);
    expect(module.training && module.norm.training).toBe(true);
    module.eval();
    for (const batch of [1, 3]) {
      const tokens = BigInt64Array.from({ length: batch * 5 }, (_, i) => BigInt((i * 7) % 10));
      const mask = Float32Array.from({ length: batch * 5 }, (_, i) => (i % 5 === 4 ? 0 : 1));
      const bias = Float32Array.of(1, -1);
      const shape = [batch, 5];
      const given = await session.run({
        tokens: new ort.Tensor('int64', tokens, shape),
        mask: new ort.Tensor('float32', mask, shape),
        bias: new ort.Tensor('float32', bias, [2]),
      });
      const expected = module.forward(tensor(tokens, shape), tensor(mask, shape), tensor(bias));
      for (const name of ['scores', 'mean'] as const) {
        expect(given[name].dims).toEqual(expected[name].shape);
        const numbers = (await expected[name].array()) as Float32Array;
        expectClose(name, given[name].data as Float32Array, numbers, 1e-6);
      }
    }
  });

  test('have names on request; an array numbers its outputs', async () => {
    class Pair extends nn.Module {
      forward(a: Tensor, b: Tensor): Tensor[] {
        return [a.add(b), a, a.sub(b)];
      }
    }
    const two = [{ shape: [1, 2] }, { shape: [1, 2] }];
    const numbered = await ort.InferenceSession.create(exportOnnx(new Pair(), { inputs: two }));
    expect(numbered.inputNames).toEqual(['input_0', 'input_1']);
    expect(numbered.outputNames).toEqual(['output_0', 'output_1', 'output_2']);
    const outputNames = ['sum', 'same', 'difference'];
    const named = await ort.InferenceSession.create(exportOnnx(new Pair(), { inputs: two, outputNames }));
    expect(named.outputNames).toEqual(outputNames);
    const tensors = [3, 1].map(
      (number) => new ort.Tensor('float32', Float32Array.of(number, number), [1, 2]),
    );
    const results = await named.run({ input_0: tensors[0], input_1: tensors[1] });
    expect(outputNames.map((name) => results[name].data[0])).toEqual([4, 3, 2]);
  });

  test.each([
    ['inputs and inputShape', { inputShape: [1, 5], inputs }, /expected either inputShape/],
    ['no inputs', {}, /expected either inputShape/],
    ['a shape without a size', { inputs: [{ shape: [0, 5] }] }, /the shape of input must be .*, got \[0,5\]/],
    [
      'a dtype that tensors do not have',
      { inputs: [{ shape: [1], dtype: 'float16' }] },
      /dtype of input must be/,
    ],
    [
      'too few names',
      { inputs, outputNames: ['scores'] },
      /expected 2 output names, one for each tensor that forward returns, got 1: scores/,
    ],
    ['a name that is taken', { inputs, outputNames: ['scores', 'head.bias'] }, /got 'head\.bias' twice/],
    ['an unknown option', { inputShap: [1, 5] }, /inputShap/],
  ])('rejects %s', (_, options, message) => {
    expect(() => exportOnnx(new Reader(), options as ExportOptions)).toThrow(message);
  });

  test('rejects a forward that does not return tensors', () => {
    class Odd extends nn.Module {
      forward(x: Tensor): unknown {
        return { x, count: 1 };
      }
    }
    expect(() => exportOnnx(new Odd(), { inputShape: [1, 2] })).toThrow(
      /forward must return a Tensor, an array/,
    );
  });
});

describe('dynamic sequences', () => {
  class Reader extends nn.Module {
    readonly words = new nn.Embedding(10, 8);
    readonly places = new nn.Embedding(16, 8);
    readonly encoder = new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 12, batchFirst: true });
    readonly head = new nn.Linear(8, 3);

    forward(tokens: Tensor, weights: Tensor): { scores: Tensor; states: Tensor } {
      const length = tokens.shape[1];
      const x = this.words.forward(tokens).add(this.places.forward(arange(length)));
      const states = this.encoder.forward(x, { isCausal: true });
      const pooled = states.mul(weights.unsqueeze(-1)).mean([1]).mul(length);
      return { scores: this.head.forward(pooled), states };
    }
  }
  const dynamicAxes = { 0: 'batch', 1: 'length' };
  const inputs = [
    { name: 'tokens', shape: [1, 16], dtype: 'int64', dynamicAxes },
    { name: 'weights', shape: [1, 16], dynamicAxes },
  ] as const;

  test('compute the same as the module for other batches and lengths, and are imported', async () => {
    manualSeed(1);
    const module = new Reader();
    const bytes = exportOnnx(module, { inputs });
    const session = await ort.InferenceSession.create(bytes);
    expect(session.inputMetadata).toMatchObject([
      { shape: ['batch', 'length'] },
      { shape: ['batch', 'length'] },
    ]);
    expect(session.outputMetadata).toMatchObject([
      { shape: ['batch', 3] },
      { shape: ['batch', 'length', 8] },
    ]);
    const imported = await importOnnx<{ scores: Tensor; states: Tensor }>(bytes);
    module.eval();
    for (const [batch, length] of [
      [1, 1],
      [3, 5],
      [2, 16],
    ]) {
      const shape = [batch, length];
      const tokens = BigInt64Array.from({ length: batch * length }, (_, i) => BigInt((i * 7) % 10));
      const weights = fill(shape, 1);
      const results = await session.run({
        tokens: new ort.Tensor('int64', tokens, shape),
        weights: new ort.Tensor('float32', weights, shape),
      });
      const expected = module.forward(tensor(tokens, shape), tensor(weights, shape));
      const again = imported.eval().forward(tensor(tokens, shape), tensor(weights, shape));
      for (const name of ['scores', 'states'] as const) {
        const numbers = (await expected[name].array()) as Float32Array;
        expect(results[name].dims).toEqual(expected[name].shape);
        expectClose(name, results[name].data as Float32Array, numbers, 1e-5);
        expectClose(name, await again[name].array(), numbers, 1e-5);
      }
    }
  });

  test('dimensions of outputs are formulas of all sizes', async () => {
    class Rows extends nn.Module {
      forward(x: Tensor): Tensor[] {
        const [batch, length] = x.shape;
        return [
          x.view(batch * length, 3),
          x.sum().div(batch * length + batch),
          cat([x, x.narrow(1, 1, length - 1)], 1),
        ];
      }
    }
    const bytes = exportOnnx(new Rows(), { inputs: [{ shape: [2, 5, 3], dynamicAxes }] });
    const session = await ort.InferenceSession.create(bytes);
    expect(
      session.outputMetadata.map((one) => (one as ort.InferenceSession.TensorValueMetadata).shape),
    ).toEqual([['batch*length', 3], [], ['batch', '2*length-1', 3]]);
    const shape = [4, 7, 3];
    const results = await session.run({ input: new ort.Tensor('float32', fill(shape, 1), shape) });
    const expected = new Rows().forward(tensor(fill(shape, 1), shape));
    for (const [index, output] of expected.entries()) {
      const actual = results[`output_${index}`];
      expect(actual.dims).toEqual(output.shape);
      expectClose(
        `output ${index}`,
        actual.data as Float32Array,
        (await output.array()) as Float32Array,
        1e-6,
      );
    }
  });

  test('refuse what no formula computes, and names that are wrong', () => {
    class Odd extends nn.Module {
      forward(x: Tensor): Tensor {
        return x.div(Math.sqrt(x.shape[1]));
      }
    }
    const exported = (input: Partial<ExportInput>) => () =>
      exportOnnx(new Odd(), { inputs: [{ shape: [1, 8], dynamicAxes, ...input }] });
    expect(exported({})).toThrow(
      /the batch and the length cannot be dynamic: in Div.* is .* for a batch of 97 and a length of 8/,
    );
    expect(exported({ dynamicAxes: { 2: 'length' } })).toThrow(/must name dimensions from 0 to 1/);
    expect(exported({ shape: [1, 3] })).toThrow(/must have its largest size, at least 4, got 3/);
    expect(() => exportOnnx(new Reader(), { inputs: [inputs[0], { ...inputs[1], shape: [1, 8] }] })).toThrow(
      /the dimensions named length must have one size, got 16 for tokens and 8 for weights/,
    );
  });
});
