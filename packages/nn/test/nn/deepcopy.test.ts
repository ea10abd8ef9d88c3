import { describe, expect, test } from 'vitest';
import {
  ArgumentError,
  BufferTensor,
  deepcopy,
  manualSeed,
  nn,
  optim,
  Parameter,
  rand,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

class Block extends nn.Conv2d {
  readonly act = new nn.LeakyReLU(0.3);
  constructor(channels: number) {
    super(channels, channels, 3, { padding: 1, bias: false });
  }
  override forward(x: Tensor): Tensor {
    return this.act.forward(super.forward(x));
  }
}

class Settings {
  readonly sizes: number[];
  constructor(sizes: number[]) {
    this.sizes = sizes;
  }
  get first() {
    return this.sizes[0];
  }
}

class Net extends nn.Module {
  readonly conv = new Block(2);
  readonly bn = new nn.BatchNorm2d(2);
  readonly heads = new nn.ModuleDict({ a: new nn.Linear(8, 3), b: new nn.Linear(8, 3) });
  readonly scales = new nn.ParameterList([new Parameter(Float32Array.of(2), [])]);
  readonly mean = new BufferTensor(Float32Array.of(0.5));
  readonly settings = new Settings([1, 2]);
  readonly plain = { names: new Map([['x', new Set([1])]]), data: Float32Array.of(1), call: Math.max };
  readonly tied: Parameter;
  private calls = 0;

  constructor() {
    super();
    this.tied = this.heads.at('a').weight;
    this.heads.at('b').weight.requiresGrad = false;
    this.bn.momentum = 0.7;
  }

  forward(x: Tensor): Tensor {
    this.calls += 1;
    const hidden = this.bn.forward(this.conv.forward(x)).flatten(1).sub(this.mean);
    const a = this.heads.at('a').forward(hidden);
    return a.add(this.heads.at('b').forward(hidden)).mul(this.scales[0]).mul(this.settings.first);
  }

  get called(): number {
    return this.calls;
  }
}

test('a copy computes the same, and trains apart from the module', async () => {
  manualSeed(1);
  const net = new Net();
  const x = filled([3, 2, 2, 2], 1);
  await net.forward(x).array();
  const copy = deepcopy(net);
  expect(copy).toBeInstanceOf(Net);
  expect(String(copy)).toBe(String(net));
  expect([...copy.stateDict()]).toEqual([...net.stateDict()]);
  expect([copy.called, copy.bn.momentum, copy.settings.first]).toEqual([1, 0.7, 1]);
  expect(copy.settings).toBeInstanceOf(Settings);
  const outputs = await Promise.all([net, copy].map(async (one) => [...(await one.forward(x).array())]));
  expect(outputs[1]).toEqual(outputs[0]);

  const before = copy.stateDict();
  await net.forward(x).square().sum().backward();
  expect(copy.parameters().map(({ grad }) => grad)).toEqual(copy.parameters().map(() => undefined));
  await new optim.SGD(net.parameters(), { lr: 0.1 }).step();
  net.eval();
  expect([...copy.stateDict()]).toEqual([...before]);
  expect([...net.stateDict()]).not.toEqual([...before]);
  expect(copy.training).toBe(true);
});

test('lists, objects and tied weights are copied once, and functions are shared', () => {
  const net = new Net();
  const copy = deepcopy(net);
  expect(copy.tied).toBe(copy.heads.at('a').weight);
  expect(copy.tied).not.toBe(net.tied);
  expect(copy.heads.at('b').weight.requiresGrad).toBe(false);
  expect(copy.parameters()).toHaveLength(net.parameters().length);
  expect(copy.plain).toEqual(net.plain);
  copy.plain.names.get('x')!.add(2);
  copy.plain.data[0] = 5;
  copy.settings.sizes[0] = 7;
  copy.mean.data[0] = 9;
  expect([...net.plain.names.get('x')!, net.plain.data[0], net.settings.first, net.mean.data[0]]).toEqual([
    1, 1, 1, 0.5,
  ]);
  expect(copy.plain.call).toBe(Math.max);
});

test.each([
  [
    'LSTM',
    () => new nn.LSTM(3, 4, { numLayers: 2, batchFirst: true }),
    (m: nn.LSTM, x: Tensor) => m.forward(x)[0],
  ],
  ['GRUCell', () => new nn.GRUCell(3, 4), (m: nn.GRUCell, x: Tensor) => m.forward(x.select(0, 0))],
  [
    'TransformerEncoder',
    () =>
      new nn.TransformerEncoder(new nn.TransformerEncoderLayer(3, 1, { dropout: 0, dimFeedforward: 5 }), 2),
    (m: nn.TransformerEncoder, x: Tensor) => m.forward(x),
  ],
  [
    'Sequential',
    () => new nn.Sequential(new nn.Linear(3, 4), new nn.LayerNorm(4), new nn.GELU(), new nn.Softmax(-1)),
    (m: nn.Sequential, x: Tensor) => m.forward(x),
  ],
] as unknown as [string, () => nn.Module, (module: nn.Module, x: Tensor) => Tensor][])(
  'a copy of %s has the same bits, and no random number is drawn for it',
  async (_, make, call) => {
    manualSeed(3);
    const module = make();
    manualSeed(4);
    const copy = deepcopy(module);
    const next = (await rand(1).array())[0];
    manualSeed(4);
    expect((await rand(1).array())[0]).toBe(next);
    expect(await call(copy, filled([2, 5, 3], 1)).array()).toEqual(
      await call(module, filled([2, 5, 3], 1)).array(),
    );
  },
);

test('hooks are called for the copy, and removed from the module alone', () => {
  const module = new nn.Linear(1, 1);
  const called: unknown[] = [];
  const handle = module.registerForwardHook((of) => {
    called.push(of);
  });
  const copy = deepcopy(module);
  handle.remove();
  copy.forward(tensor([[1]]).float());
  module.forward(tensor([[1]]).float());
  expect(called).toEqual([copy]);
  expect(called[0]).toBe(copy);
});

describe('names what cannot be copied', () => {
  class Base extends nn.Module {
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  class Private extends Base {
    readonly #gain = 2;
    override forward(x: Tensor): Tensor {
      return x.mul(this.#gain);
    }
  }
  class Counter {
    #count = 0;
    next(): number {
      return (this.#count += 1);
    }
  }
  const holding = (part: object) => {
    const module = new Base();
    Object.assign(module, part);
    return module;
  };
  const arrow = new (class Arrow extends Base {
    readonly layer = new nn.Linear(1, 1);
    readonly call = (x: Tensor) => this.layer.forward(x);
  })();

  test.each([
    [
      new Private(),
      'deepcopy: Private has a private field (#gain)'.replace(
        'Private has',
        'Private cannot be copied: it has',
      ),
    ],
    [
      holding({ inner: new Private() }),
      'deepcopy: Base.inner cannot be copied: it has a private field (#gain), which only the constructor of Private can make.',
    ],
    [holding({ counter: new Counter() }), 'Base.counter cannot be copied: it has a private field (#count)'],
    [
      holding({ cache: new WeakMap() }),
      'Base.cache cannot be copied: it is an object of WeakMap, a class that is not written in JavaScript',
    ],
    [arrow, 'Arrow.call cannot be copied: it is an arrow function that uses this'],
    [holding({ call: arrow.forward.bind(arrow) }), 'Base.call cannot be copied: it is a bound function'],
    [
      nn.utils.parametrizations.weightNorm(new nn.Linear(2, 2)),
      'Linear.weight cannot be copied: it is computed by a getter, as parametrizations are.',
    ],
  ] as [nn.Module, string][])('%#', (module, message) => {
    expect(() => deepcopy(module)).toThrow(ArgumentError);
    expect(() => deepcopy(module)).toThrow(message);
    expect(() => deepcopy(module)).toThrow('copy.loadStateDict(model.stateDict())');
  });

  test('anything but a module', () => {
    expect(() => deepcopy({} as never)).toThrow('deepcopy: expected a Module, got an object');
  });

  test('a module with a pending operation', async () => {
    const module = new nn.Linear(1, 1);
    const pending = module
      .forward(tensor([[1]]).float())
      .sum()
      .backward();
    expect(() => deepcopy(module)).toThrow('deepcopy');
    await pending;
    deepcopy(module);
  });
});
