import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as ort from 'onnxruntime-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  exportOnnx,
  F,
  importOnnx,
  nn,
  noGrad,
  optim,
  tensor,
  type OnnxModule,
  type OnnxOutput,
  type Tensor,
} from '../../../src/index.ts';
import { GraphBuilder } from '../../../src/onnx-format/graph-builder.ts';
import { operatorTable } from '../../../src/onnx/import/operators/index.ts';
import { fill, fillClasses } from '../../support/fill.ts';
import { goldenFile } from '../../support/golden-cases.ts';
import { expectClose } from '../../support/numeric.ts';
import { expectSummary, type Summary } from '../../support/summary.ts';
import '../../support/one-thread.ts';

// Models that PyTorch exported, and its numbers, as written by `test/golden/onnx_models.py`.

interface ModelCase {
  readonly name: string;
  readonly inputs: readonly (readonly (number | 'int64')[])[];
  readonly state: Readonly<Record<string, readonly number[]>>;
  readonly before: readonly Result[];
  readonly losses: readonly number[];
  readonly after: readonly Result[];
}

type Result = Summary & { readonly shape: readonly number[] };

const cases = goldenFile('onnx_models') as readonly ModelCase[];
const fileOf = (name: string) =>
  fileURLToPath(new URL(`../../../../../test/golden/onnx/${name.replace(' ', '_')}.onnx`, import.meta.url));

/** The inputs of onnx_models.py. */
function inputsOf({ inputs }: ModelCase): Tensor[] {
  return inputs.map((given, seed) => {
    const shape = given.filter((size) => size !== 'int64');
    if (given.includes('int64')) return tensor(fillClasses(shape[0] * shape[1], 11, seed), shape);
    return tensor(
      fill(shape, seed).map((element) => element + (seed > 0 ? 1.5 : 0)),
      shape,
    );
  });
}

type AnyModule = OnnxModule<OnnxOutput>;

function outputsOf(model: AnyModule, inputs: readonly Tensor[]): Tensor[] {
  const output = model.forward(...inputs);
  return model.outputNames.length === 1
    ? [output as Tensor]
    : Object.values(output as Record<string, Tensor>);
}

async function expectOutputs(model: AnyModule, inputs: readonly Tensor[], expected: readonly Result[]) {
  const outputs = noGrad(() => outputsOf(model.eval(), inputs));
  expect(outputs.map(({ shape }) => shape)).toEqual(expected.map(({ shape }) => shape));
  for (const [index, output] of outputs.entries()) {
    expectSummary(`output ${index}`, (await output.array()) as Float32Array, expected[index]);
  }
}

describe.each(cases)('$name, exported by PyTorch', (expected) => {
  const inputs = inputsOf(expected);

  test('computes PyTorch’s results', async () => {
    await expectOutputs(await importOnnx<OnnxOutput>(fileOf(expected.name)), inputs, expected.before);
  });

  test('exported again, plain onnxruntime and a second import compute the same', async () => {
    const model = await importOnnx<OnnxOutput>(await readFile(fileOf(expected.name)));
    const specification = model.inputs.map(({ name }, index) => ({
      name,
      shape: inputs[index].shape,
      dtype: inputs[index].dtype as 'float32' | 'int64',
      fixed: true,
    }));
    const outputNames = [...model.outputNames];
    const bytes = exportOnnx(model, { inputs: specification, outputNames });
    await expectOutputs(await importOnnx<OnnxOutput>(bytes), inputs, expected.before);
    const session = await ort.InferenceSession.create(bytes);
    const results = await session.run(
      Object.fromEntries(
        inputs.map((input, index) => [
          model.inputs[index].name,
          new ort.Tensor(input.dtype as 'float32' | 'int64', input.elements()!, [...input.shape]),
        ]),
      ),
    );
    for (const [index, name] of outputNames.entries()) {
      expectSummary(name, results[name].data as Float32Array, expected.before[index]);
    }
  });

  // A convolution that the exporter merged with batch normalization trains differently.
  if (expected.name === 'folded cnn') return;

  test('trains with the losses of PyTorch', async () => {
    const model = await importOnnx<OnnxOutput>(fileOf(expected.name));
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
    model.train();
    const losses: number[] = [];
    for (let step = 0; step < expected.losses.length; step += 1) {
      optimizer.zeroGrad();
      const loss = outputsOf(model, inputs)
        .map((output) => F.mseLoss(output, tensor(fill(output.shape, 10 + step), output.shape)))
        .reduce((sum, one) => sum.add(one));
      await loss.backward();
      losses.push(await loss.item());
      await optimizer.step();
    }
    expectClose('losses', losses, expected.losses, 1e-5);
    await expectOutputs(model, inputs, expected.after);
  });
});

test('parameters and buffers have PyTorch’s names and shapes', async () => {
  for (const name of ['mlp', 'cnn', 'text', 'sequences']) {
    const { state } = cases.find((one) => one.name === name)!;
    const model = await importOnnx<OnnxOutput>(fileOf(name));
    const own = [...model.stateDict()].map(([key, { shape }]) => [key, shape] as const);
    expect(Object.fromEntries(own), name).toEqual(state);
  }
  const cnn = await importOnnx(fileOf('cnn'));
  expect([...cnn.namedBuffers()].map(([name]) => name).sort()).toEqual([
    'bn1.running_mean',
    'bn1.running_var',
    'bn2.running_mean',
    'bn2.running_var',
  ]);
});

test('isParameter chooses the trained arrays', async () => {
  const model = await importOnnx(fileOf('cnn'), { isParameter: (name) => name.startsWith('fc.') });
  expect([...model.namedParameters()].map(([name]) => name)).toEqual(['fc.weight', 'fc.bias']);
  expect([...model.namedBuffers()]).toHaveLength(11);
  const one = cases.find(({ name }) => name === 'cnn')!;
  await expectOutputs(model, inputsOf(one), one.before);
});

test('a model from exportOnnx is imported with other batches, and trains', async () => {
  class Reader extends nn.Module {
    readonly words = new nn.Embedding(10, 6);
    readonly norm = new nn.BatchNorm1d(6);
    readonly head = new nn.Linear(6, 2);

    forward(tokens: Tensor, mask: Tensor): { scores: Tensor; pooled: Tensor } {
      const words = this.words.forward(tokens).mul(mask.unsqueeze(-1));
      const pooled = words.sum([1]).div(mask.sum([1], true));
      return { scores: this.head.forward(this.norm.forward(pooled)), pooled };
    }
  }
  const original = new Reader();
  const inputs = [
    { name: 'tokens', shape: [1, 5], dtype: 'int64' },
    { name: 'mask', shape: [1, 5] },
  ] as const;
  const model = await importOnnx<{ scores: Tensor; pooled: Tensor }>(exportOnnx(original, { inputs }));
  expect(model.inputs).toEqual([
    { name: 'tokens', dtype: 'int64', shape: ['batch', 5] },
    { name: 'mask', dtype: 'float32', shape: ['batch', 5] },
  ]);
  const tokens = tensor(fillClasses(15, 10, 1), [3, 5]);
  const mask = tensor(
    Float32Array.from({ length: 15 }, (_, i) => Number(i % 5 < 4)),
    [3, 5],
  );
  const scoresOf = async (module: Reader | typeof model) =>
    (await module.eval().forward(tokens, mask).scores.array()) as Float32Array;
  expectClose('scores', await scoresOf(model), await scoresOf(original), 1e-6);
  // exportOnnx writes the formula of the evaluation mode.
  expect([...model.namedBuffers()].map(([name]) => name)).toEqual(['norm.running_mean', 'norm.running_var']);
  const lossesOf = async (module: Reader | typeof model) => {
    const optimizer = new optim.Adam(module.parameters(), { lr: 0.05 });
    const losses: number[] = [];
    for (let step = 0; step < 4; step += 1) {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(module.eval().forward(tokens, mask).scores, tensor([0, 1, 1]));
      await loss.backward();
      losses.push(await loss.item());
      await optimizer.step();
    }
    return losses;
  };
  expectClose('losses', await lossesOf(model), await lossesOf(original), 1e-6);
});

describe('a model that cannot be imported', () => {
  /** A model of one input, with nodes of these operators. */
  function modelOf(...nodes: readonly (readonly [op: string, own?: boolean])[]): Uint8Array {
    const graph = new GraphBuilder();
    graph.input('x', 'float32', [2, 3]);
    graph.output('y', 'float32', [2, 3]);
    for (const [index, [op, own]] of nodes.entries()) {
      const output = index === nodes.length - 1 ? 'y' : `out_${index}`;
      graph[own ? 'ownNode' : 'node'](op, ['x'], [output]);
    }
    return graph.encode();
  }

  test('is rejected with all operators that are not supported', async () => {
    const bytes = modelOf(['Relu'], ['Hardmax'], ['Loop'], ['Hardmax'], ['AddRows', true]);
    await expect(importOnnx(bytes)).rejects.toThrow(
      'importOnnx: expected operators that ringrun can train, got 3 other(s): Hardmax (2 nodes), Loop, ringrun.AddRows.',
    );
  });

  test('is rejected if its bytes are not a model, or its file does not exist', async () => {
    await expect(importOnnx(new TextEncoder().encode('no model'))).rejects.toThrow(
      'importOnnx: expected an ONNX model, got 8 bytes',
    );
    await expect(importOnnx('/nowhere/model.onnx')).rejects.toThrow(
      'importOnnx: expected the path of a model, got /nowhere/model.onnx',
    );
  });

  test('rejects inputs of another number, dtype or number of dimensions', async () => {
    const model = await importOnnx(modelOf(['Relu']));
    expect(() => model.forward()).toThrow(
      'forward: expected 1 input(s) of the imported model, x float32[2,3], got 0.',
    );
    expect(() => model.forward(tensor([1, 2]))).toThrow(
      'forward: expected x float32[2,3] of the imported model, got int64[2].',
    );
  });
});

test('arrays in files beside the model are read', async () => {
  const { ModelProto } = await import('../../../src/onnx-format/schema.ts');
  const folder = await mkdtemp(join(tmpdir(), 'ringrun-import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const message = ModelProto.decode(await readFile(fileOf('mlp'))) as unknown as {
    graph: { initializer: { rawData: Uint8Array; dataLocation: number; externalData: object[] }[] };
  };
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const one of message.graph.initializer) {
    const length = one.rawData.length;
    parts.push(one.rawData);
    one.externalData = Object.entries({ location: 'weights.bin', offset, length }).map(([key, value]) => ({
      key,
      value: String(value),
    }));
    one.dataLocation = 1;
    one.rawData = new Uint8Array();
    offset += length;
  }
  const bytes = ModelProto.encode(message).finish();
  await writeFile(join(folder, 'weights.bin'), Buffer.concat(parts));
  await writeFile(join(folder, 'mlp.onnx'), bytes);
  const one = cases.find(({ name }) => name === 'mlp')!;
  await expectOutputs(await importOnnx<OnnxOutput>(join(folder, 'mlp.onnx')), inputsOf(one), one.before);
  await expect(importOnnx(bytes)).rejects.toThrow('Pass the path of the model instead of its bytes.');
});

test('docs/onnx.md lists the supported operators', async () => {
  const page = await readFile(new URL('../../../../../docs/onnx.md', import.meta.url), 'utf8');
  const listed = /```text\n([^`]*)```/.exec(page)![1].trim().split(/\s+/);
  expect(listed).toEqual(Object.keys(operatorTable).sort());
});
