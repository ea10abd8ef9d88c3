import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { deepcopy, nn, optim, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { goldenFile } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// What torch prints, as written by `test/golden/module_reprs.py`.

const torch = goldenFile('module_reprs') as Readonly<Record<string, string>>;

const parameter = (...shape: number[]) =>
  new Parameter(new Float32Array(shape.reduce((size, length) => size * length, 1)), shape);
const linear = (inputs: number, outputs: number) => new nn.Linear(inputs, outputs);

/** Modules whose arguments are not the same in both languages. */
const others: Readonly<Record<string, () => unknown>> = {
  'EmbeddingBag sum': () => new nn.EmbeddingBag(10, 3, { mode: 'sum', paddingIdx: 1 }),
  'Upsample scale': () => new nn.Upsample({ scaleFactor: 2 }),
  'Upsample scales': () => new nn.Upsample({ scaleFactor: [2, 1.5], mode: 'bilinear' }),
  'Upsample size': () => new nn.Upsample({ size: [8, 9], mode: 'bilinear', alignCorners: true }),
  'Upsample number': () => new nn.Upsample({ size: 8 }),
  'empty Sequential': () => new nn.Sequential(),
  Sequential: () =>
    new nn.Sequential(linear(2, 3), new nn.ReLU(), new nn.Sequential(linear(3, 3), linear(3, 3))),
  'empty ModuleList': () => new nn.ModuleList(),
  ModuleList: () => new nn.ModuleList(Array.from({ length: 4 }, () => linear(2, 2))),
  'mixed ModuleList': () =>
    new nn.ModuleList<nn.Module>([
      new nn.ReLU(),
      new nn.ReLU(),
      linear(2, 2),
      new nn.Sequential(new nn.Tanh()),
      new nn.Sequential(new nn.Tanh()),
    ]),
  ModuleDict: () =>
    new nn.ModuleDict<nn.Module>({
      encoder: linear(2, 2),
      decoder: new nn.ModuleList([new nn.ReLU(), new nn.ReLU()]),
    }),
  'empty ModuleDict': () => new nn.ModuleDict(),
  ParameterList: () => new nn.ParameterList([parameter(2, 3), parameter(4)]),
  'ParameterList of one': () => new nn.ParameterList([parameter(2, 3)]),
  'empty ParameterList': () => new nn.ParameterList(),
  ParameterDict: () => new nn.ParameterDict({ scale: parameter(2), shift: parameter(1, 2) }),
  AveragedModel: () => new optim.swaUtils.AveragedModel(linear(1, 1)),
};

test.each(Object.entries(torch))('%s is printed as torch prints it', (call, expected) => {
  const module = Object.hasOwn(others, call) ? others[call]() : construct(call);
  expect(String(module)).toBe(expected);
  expect(inspect(module)).toBe(expected);
  // A copy has the same arguments.
  if (module instanceof nn.Module) expect(String(deepcopy(module))).toBe(expected);
});

/** The module of a call in Python, whose arguments are numbers, texts, tuples, True, False and None. */
function construct(call: string): unknown {
  const [, name, given] = /^(\w+)\((.*)\)$/.exec(call)!;
  const json = given
    .replaceAll('(', '[')
    .replaceAll(')', ']')
    .replaceAll('True', 'true')
    .replaceAll('False', 'false')
    .replaceAll('None', 'null');
  const classes = nn as unknown as Record<string, new (...given: unknown[]) => unknown>;
  return new classes[name](...(JSON.parse(`[${json}]`) as unknown[]));
}

test('every module has a case', () => {
  const covered = new Set(Object.values(torch).flatMap((text) => text.match(/\w+(?=\()/g) ?? []));
  const modules = Object.entries(nn).filter(
    ([, value]) => typeof value === 'function' && value.prototype instanceof nn.Module,
  );
  expect(modules.length).toBeGreaterThan(100);
  const isAbstract = (name: string) => ['Padding', 'RecurrentNetwork', 'RecurrentStep'].includes(name);
  expect(modules.map(([name]) => name).filter((name) => !covered.has(name) && !isAbstract(name))).toEqual([]);
});

class Scaled extends nn.Linear {
  override extraRepr(): string {
    return `${super.extraRepr()}, scale=2`;
  }
}

class Net extends nn.Module {
  readonly firstLayer = new Scaled(2, 2);
  readonly act = new nn.ReLU(true);
  readonly size = 2;

  override extraRepr(): string {
    return `size=${this.size}`;
  }

  forward(x: Tensor): Tensor {
    return this.act.forward(this.firstLayer.forward(x));
  }
}

test('a module of a user prints its extraRepr, and its submodules under the names of the properties', () => {
  const expected = `Net(
  size=2
  (firstLayer): Scaled(in_features=2, out_features=2, bias=True, scale=2)
  (act): ReLU(inplace=True)
)`;
  expect(String(new Net())).toBe(expected);
  expect(inspect({ net: new nn.ReLU() })).toBe('{ net: ReLU() }');
});

test('the text shows the present state, and a module that contains itself ends', () => {
  const norm = new nn.BatchNorm2d(3);
  norm.momentum = null;
  expect(String(norm)).toContain('momentum=None');
  const net = Object.assign(new nn.Sequential(new nn.ReLU()), { parent: {} });
  net.parent = net;
  expect(inspect(net)).toBe('Sequential(\n  (0): ReLU()\n  (parent): Sequential(...)\n)');
  expect(inspect(net)).toBe(String(net));
});

test('printing reports no error of an array of modules', () => {
  class Hidden extends nn.Module {
    readonly layers = [new nn.ReLU()];
  }
  expect(inspect(new Hidden())).toBe('Hidden()');
});

test('inplace changes nothing but the text', async () => {
  const x = tensor([-1.5, 2]);
  for (const act of [new nn.ReLU(true), new nn.ReLU({ inplace: true }), new nn.ReLU({ inplace: false })]) {
    expect([...(await act.forward(x).array())]).toEqual([0, 2]);
  }
  expect([...(await x.array())]).toEqual([-1.5, 2]);
  // @ts-expect-error inplace is a boolean
  expect(() => new nn.ReLU(1)).toThrow('ReLU: inplace must be true or false, got 1');
});
