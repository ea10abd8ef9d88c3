import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ArgumentError,
  cat,
  exportOnnx,
  F,
  manualSeed,
  nn,
  Parameter,
  stack,
  tensor,
  type Tensor,
} from '../../../src/index.ts';
import { ModelProto } from '../../../src/onnx-format/schema.ts';
import { fill } from '../../support/fill.ts';
import { MnistCnn } from '../../support/mnist-cnn.ts';
import { expectClose } from '../../support/numeric.ts';

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

test('parameters are initializers under their names, with their current values', () => {
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

test('layers of every kind leave the batch dynamic', async () => {
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

test('rejects a tensor that is neither the input nor a parameter', () => {
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
    'view after another axis': (x) => x.permute(1, 0, 2).view(2, rows(x) * 4),
    'division by its size': (x) => x.sum([0]).div(rows(x)),
    'numbers that depend on it': (x) =>
      x
        .mul(1 / rows(x))
        .add(rows(x) + 0.5)
        .sub(3 / (rows(x) + 1)),
    // 664 elements of each: from 99 on, onnxruntime receives a dynamic size.
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
      'a size that no formula computes',
      (x: Tensor) => x.div(Math.sqrt(rows(x))),
      /in Div\(.*\).* is .* for a batch of 97/,
    ],
    [
      'a different operation for another size',
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
  ])('rejects %s, naming the operation', (_, compute, message) => {
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
