import { decodeSafetensors, encodeSafetensors } from 'ringrun';
import { describe, expect, test } from 'vitest';
import {
  BufferTensor,
  exportOnnx,
  importOnnx,
  nn,
  ones,
  optim,
  Parameter,
  type Tensor,
} from '../../src/index.ts';
import { goldenFile } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// PyTorch's names, as written by `test/golden/module_keys.py`.
const golden = goldenFile('module_keys') as Readonly<
  Record<
    string,
    {
      state: Readonly<Record<string, readonly number[]>>;
      parameters: readonly string[];
      buffers: readonly string[];
      modules: readonly string[];
    }
  >
>;

const weight = (...shape: number[]) =>
  new Parameter(new Float32Array(shape.reduce((product, size) => product * size, 1)), shape);

class Odd extends nn.Module {
  LayerNorm = new nn.LayerNorm(2);
  Conv2d_1a_3x3 = new nn.Conv2d(1, 1, 3);
  hiddenLayer = new nn.Linear(1, 1);
  userID = weight(1);
  runningMean = weight(2);
  selfAttn = new nn.MultiheadAttention(2, 1);
  aB = weight(3);
  a_b = weight(4);
  A = weight(5);
  _private = weight(6);
  layer_1_B = new nn.Linear(1, 1);
}

class CustomNorm extends nn.BatchNorm1d {
  extraScale = weight(2);
  runningMeanOfAll = new nn.Linear(2, 1);
}

class Shared extends nn.Module {
  firstHead = new nn.Linear(2, 2);
  SecondHead = this.firstHead;
  lastBias = this.firstHead.bias!;
}

const linear = () => new nn.Linear(1, 1);

const modules: Readonly<Record<string, () => nn.Module>> = {
  BatchNorm1d: () => new nn.BatchNorm1d(2),
  BatchNorm2d: () => new nn.BatchNorm2d(2, { affine: false }),
  BatchNorm3d: () => new nn.BatchNorm3d(2, { trackRunningStats: false }),
  SyncBatchNorm: () => new nn.SyncBatchNorm(2),
  InstanceNorm1d: () => new nn.InstanceNorm1d(2, { affine: true }),
  InstanceNorm2d: () => new nn.InstanceNorm2d(2),
  InstanceNorm3d: () => new nn.InstanceNorm3d(2, { affine: true }),
  GroupNorm: () => new nn.GroupNorm(2, 4),
  LayerNorm: () => new nn.LayerNorm([2, 3]),
  RMSNorm: () => new nn.RMSNorm(3),
  Linear: () => new nn.Linear(2, 3),
  Bilinear: () => new nn.Bilinear(2, 3, 4),
  Embedding: () => new nn.Embedding(3, 2),
  EmbeddingBag: () => new nn.EmbeddingBag(3, 2),
  Conv1d: () => new nn.Conv1d(1, 2, 3),
  Conv2d: () => new nn.Conv2d(1, 2, 3, { bias: false }),
  Conv3d: () => new nn.Conv3d(1, 2, 3),
  ConvTranspose1d: () => new nn.ConvTranspose1d(1, 2, 3),
  ConvTranspose2d: () => new nn.ConvTranspose2d(1, 2, 3),
  ConvTranspose3d: () => new nn.ConvTranspose3d(1, 2, 3),
  PReLU: () => new nn.PReLU(3),
  RNN: () => new nn.RNN(2, 3, { numLayers: 2, bidirectional: true }),
  GRU: () => new nn.GRU(2, 3, { numLayers: 12, bias: false }),
  LSTM: () => new nn.LSTM(2, 3),
  RNNCell: () => new nn.RNNCell(2, 3),
  GRUCell: () => new nn.GRUCell(2, 3),
  LSTMCell: () => new nn.LSTMCell(2, 3, { bias: false }),
  MultiheadAttention: () => new nn.MultiheadAttention(4, 2),
  'MultiheadAttention without biases': () => new nn.MultiheadAttention(4, 2, { bias: false }),
  TransformerEncoderLayer: () => new nn.TransformerEncoderLayer(4, 2, { dimFeedforward: 3 }),
  TransformerDecoderLayer: () => new nn.TransformerDecoderLayer(4, 2, { dimFeedforward: 3 }),
  Transformer: () =>
    new nn.Transformer(4, 2, { numEncoderLayers: 1, numDecoderLayers: 2, dimFeedforward: 3 }),
  Sequential: () => new nn.Sequential(new nn.Linear(2, 2), new nn.ReLU(), new nn.BatchNorm1d(2)),
  ModuleList: () => new nn.ModuleList([linear(), new nn.Linear(1, 2)]),
  ModuleDict: () =>
    new nn.ModuleDict<nn.Module>([
      ['userID', new nn.Linear(1, 2)],
      ['LayerNorm', new nn.LayerNorm(2)],
      ['size', new nn.BatchNorm1d(1)],
      ...['set', 'at', 'stateDict', 'constructor', '__proto__', '10', '2', 'größe 1'].map(
        (name): [string, nn.Module] => [name, linear()],
      ),
    ]),
  ParameterDict: () =>
    new nn.ParameterDict({ Scale: weight(1), size: weight(2), b: weight(3), aB: weight(4) }),
  ParameterList: () => new nn.ParameterList([weight(1), weight(2)]),
  'names of the user': () => new Odd(),
  'a subclass of BatchNorm1d': () => new CustomNorm(2),
  'one module under two names': () => new Shared(),
};

const namesOf = (pairs: Iterable<readonly [name: string, value: unknown]>) =>
  [...pairs].map(([name]) => name);

/** Additional keys under which torch stores a tensor. */
const again = ['SecondHead.weight', 'SecondHead.bias', 'lastBias', 'firstHead.bias'];

describe("torch's names:", () => {
  test.each(Object.entries(modules))('%s', (name, make) => {
    const [module, expected] = [make(), golden[name]];
    const shapes = Object.fromEntries([...module.stateDict()].map(([key, { shape }]) => [key, shape]));
    if (name === 'one module under two names') {
      const own = Object.entries(expected.state).filter(([key]) => key in shapes || !again.includes(key));
      expect(shapes).toEqual(Object.fromEntries(own));
    } else {
      expect(Object.entries(shapes).sort()).toEqual(Object.entries(expected.state).sort());
      expect(Object.keys(shapes)).toEqual(Object.keys(expected.state));
    }
    expect(namesOf(module.namedParameters())).toEqual(expected.parameters);
    expect(namesOf(module.namedBuffers())).toEqual(expected.buffers);
    expect(namesOf(module.namedModules())).toEqual(expected.modules);
  });

  test('every module of module_keys.py is compared', () => {
    expect(Object.keys(modules)).toEqual(Object.keys(golden));
  });
});

test.each(Object.entries(modules))('%s loads the keys that earlier versions wrote', (_, make) => {
  const [from, to] = [make(), make()];
  for (const [index, parameter] of [...from.parameters()].entries()) parameter.data.fill(index + 1);
  const state = from.stateDict();
  const twins = new Set(['a_b', 'aB']);
  const earlier = new Map(
    [...state].map(([key, stored]) => [
      twins.has(key) ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      stored,
    ]),
  );
  expect(to.loadStateDict(earlier)).toEqual({ missingKeys: [], unexpectedKeys: [] });
  expect(to.stateDict()).toEqual(state);
});

test('a key of the module takes precedence over another key’s earlier spelling', () => {
  class Two extends nn.Module {
    aB = weight(1);
    a_b = weight(1);
  }
  const module = new Two();
  module.loadStateDict({
    aB: { shape: [1], data: Float32Array.of(1) },
    a_b: { shape: [1], data: Float32Array.of(2) },
  });
  expect([module.aB.data[0], module.a_b.data[0]]).toEqual([1, 2]);
  expect(() => module.loadStateDict({ a_b: { shape: [1], data: Float32Array.of(3) } })).toThrow(
    'missing: aB',
  );
  expect(module.a_b.data[0]).toBe(2);
});

describe('a ModuleDict', () => {
  const names = ['size', 'training', 'forward', 'namedParameters', 'toString', '__proto__', 'then', 'kind'];

  test.each(names)('has a module %s, which trains, is saved and loaded', async (name) => {
    class Net extends nn.Module {
      parts = new nn.ModuleDict([[name, new nn.Linear(2, 1)]]);
    }
    const net = new Net();
    const layer = net.parts.at(name);
    const before = layer.weight.data.slice();
    const optimizer = new optim.SGD(net.parameters(), { lr: 0.1 });
    await layer
      .forward(ones([1, 2]))
      .sum()
      .backward();
    await optimizer.step();
    expect(layer.weight.data).not.toEqual(before);
    expect(net.eval().parts.at(name).training).toBe(false);
    expect(net.parts.training).toBe(false);
    const loaded = new Net();
    loaded.loadStateDict(decodeSafetensors(encodeSafetensors(net.stateDict())));
    expect(loaded.parts.at(name).weight.data).toEqual(layer.weight.data);
  });

  test('keeps the order in which modules were added, even for numeric names', () => {
    const dict = new nn.ModuleDict([
      ['b', linear()],
      ['10', linear()],
      ['2', linear()],
    ]);
    dict.set('10', linear());
    expect(namesOf(dict.namedChildren())).toEqual(['b', '10', '2']);
  });

  test.each(['', 'a.b'])("rejects the name '%s', as torch does", (name) => {
    expect(() => new nn.ModuleDict([[name, linear()]])).toThrow(
      `ModuleDict: expected a name without dots, got '${name}'.`,
    );
  });

  test('rejects the name of a module of its class', () => {
    class Parts extends nn.ModuleDict {
      head = linear();
    }
    const parts = new Parts();
    expect(() => parts.set('head', linear())).toThrow(
      "Parts: 'head' is the name of a property with parameters.",
    );
    expect(namesOf(parts.set('tail', linear()).namedChildren())).toEqual(['head', 'tail']);
  });

  test('is converted to synchronized batch normalization', () => {
    const dict = new nn.ModuleDict({ Norm: new nn.BatchNorm1d(2) });
    nn.SyncBatchNorm.convertSyncBatchNorm(dict);
    expect(dict.at('Norm')).toBeInstanceOf(nn.SyncBatchNorm);
    expect(namesOf(dict.namedBuffers())[0]).toBe('Norm.running_mean');
  });
});

test('a ParameterDict has a parameter of any name', () => {
  const dict = new nn.ParameterDict({ size: weight(2), training: weight(1) });
  expect(namesOf(dict.namedParameters())).toEqual(['size', 'training']);
  expect([dict.size, dict.training]).toEqual([2, true]);
});

test('buffers of a class keep its spelling', () => {
  class Counter extends nn.Module {
    lastSeen = new BufferTensor(new Float32Array(1));
  }
  expect([...new Counter().stateDict().keys()]).toEqual(['lastSeen']);
});

test('an exported and imported model has the names of the model', async () => {
  class Scales extends nn.ParameterDict {
    forward(x: Tensor): Tensor {
      return x.mul(this.at('training')).mul(this.at('Scale')).mul(this.at('inputs'));
    }
  }
  const scales = new Scales({ training: weight(1, 2), Scale: weight(1, 1), inputs: weight(2) });
  for (const parameter of scales.parameters()) parameter.data.fill(3);
  const model = await importOnnx(exportOnnx(scales, { inputShape: [3, 2] }));
  expect(model.stateDict()).toEqual(scales.stateDict());
  expect([...(await model.forward(ones([3, 2])).array())]).toEqual(Array(6).fill(27));
  expect(model.eval().training).toBe(false);
});
