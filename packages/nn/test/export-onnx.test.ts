import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { expect, onTestFinished, test } from 'vitest';
import {
  ArgumentError,
  cat,
  exportOnnx,
  F,
  manualSeed,
  nn,
  Parameter,
  tensor,
  type Tensor,
} from '../src/index.ts';
import { ModelProto } from '../src/onnx/schema.ts';
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
