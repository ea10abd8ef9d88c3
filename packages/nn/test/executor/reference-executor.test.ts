import { afterAll, describe, expect, test } from 'vitest';
import { F, compileStep, nn, optim, programCache, tensor, type Tensor } from '../../src/index.ts';
import { setGpuExecutor } from '../../src/executor/select.ts';
import { manualSeed } from '../../src/random/generator.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import { ReferenceExecutor } from '../support/reference-executor.ts';
import '../support/one-thread.ts';

const reference = new ReferenceExecutor();
const before = setGpuExecutor(() => reference);
afterAll(() => {
  setGpuExecutor(before);
});

/**
 * With 16 images, the executor for CPUs has other operators and layouts for every layer. No dropout, because the interpreter's numbers
 * do not hold the key.
 */
class Net extends nn.Module {
  conv1 = new nn.Conv2d(1, 4, 3, { padding: 1, bias: false });
  norm = new nn.BatchNorm2d(4);
  conv2 = new nn.Conv2d(4, 4, 3, { stride: 2 });
  fc = new nn.Linear(16, 5);
  layerNorm = new nn.LayerNorm(5);
  forward(x: Tensor): Tensor {
    x = F.maxPool2d(F.relu(this.norm.forward(this.conv1.forward(x))), 2);
    x = F.gelu(this.conv2.forward(x)).flatten(1);
    return this.layerNorm.forward(this.fc.forward(x));
  }
}

const images = tensor(fill([16, 1, 12, 12], 1), [16, 1, 12, 12]);
const classes = tensor(BigInt64Array.from({ length: 16 }, (_, i) => BigInt(i % 5)));

type Trained = { readonly model: Net; readonly optimizer: optim.Optimizer };

const optimizers: Record<string, (model: Net) => optim.Optimizer> = {
  SGD: (model) => new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9, nesterov: true }),
  AdamW: (model) => new optim.AdamW(model.parameters(), { lr: 0.01 }),
};

/** The losses of four steps, and then all parameters, buffers and results of evaluation. */
async function trained(
  device: 'cpu' | 'cuda',
  name: string,
  stepOf: (trained: Trained) => () => Promise<Tensor>,
) {
  manualSeed(5);
  const model = new Net().to(device);
  const step = stepOf({ model, optimizer: optimizers[name](model) });
  const losses: number[] = [];
  for (let i = 0; i < 4; i += 1) losses.push(await (await step()).item());
  const tensors = [...model.parameters(), ...Array.from(model.namedBuffers(), ([, buffer]) => buffer)];
  const evaluated = await model.eval().forward(images).array();
  return { losses, arrays: [...tensors.map(({ data }) => data), evaluated as Float32Array] };
}

const ways: Record<string, (trained: Trained) => () => Promise<Tensor>> = {
  'backward and step':
    ({ model, optimizer }) =>
    async () => {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.forward(images), classes);
      await loss.backward();
      await optimizer.step({ clipGradNorm: { maxNorm: 0.5 } });
      return loss;
    },
  'compiled step': ({ model, optimizer }) => {
    const step = compileStep(optimizer, (x: Tensor, y: Tensor) => F.crossEntropy(model.forward(x), y), {
      clipGradNorm: { maxNorm: 0.5 },
    });
    return () => step(images, classes);
  },
};

describe.each(Object.keys(ways))('an executor without ONNX: %s', (way) => {
  test.each(Object.keys(optimizers))('trains as the one for CPUs, with %s', async (name) => {
    const expected = await trained('cpu', name, ways[way]);
    programCache.clear();
    reference.compiled.length = 0;
    const actual = await trained('cuda', name, ways[way]);
    expect(reference.compiled).toEqual(
      way === 'compiled step' ? ['step', 'forward'] : ['forward and backward', 'optimizer.step', 'forward'],
    );
    expectClose('losses', actual.losses, expected.losses, 1e-4);
    for (const [i, array] of actual.arrays.entries())
      expectClose(`tensor ${i}`, array, expected.arrays[i], 1e-3);
  });
});

test('it received no operator of the executor for CPUs, and none that a rewrite for all executors removes', () => {
  const { operators } = reference;
  expect([...operators]).toEqual(expect.arrayContaining(['Conv', 'BatchNormalize', 'MaxPool', 'Normalize']));
  const ofCpus = ['ToomCookConvolve', 'SwapOuterAxes', 'BatchNormalizeActivate', 'MaxPoolActivate'];
  const fused = ['MatrixProduct', 'Elementwise', 'AddLayerNormalize', 'ExactMaxPool', 'AddSlope'];
  expect([...ofCpus, ...fused].filter((op) => operators.has(op))).toEqual([]);
});
