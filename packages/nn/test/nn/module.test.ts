import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import {
  ArgumentError,
  BufferTensor,
  F,
  manualSeed,
  nn,
  Parameter,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

class Scale extends nn.Module {
  readonly offset = new BufferTensor(Float32Array.of(1, 2));
  readonly factor = new Parameter(Float32Array.of(3, 4), [2]);

  forward(input: Tensor): Tensor {
    return input.mul(this.factor).add(this.offset);
  }
}

class Net extends nn.Module {
  readonly first = new Scale();
  readonly list = new nn.ModuleList([new Scale(), new nn.ReLU()]);
  readonly again = this.first;
  readonly own = new Parameter(Float32Array.of(5), [1]);
  readonly ownBuffer = new BufferTensor(Float32Array.of(6), []);
  readonly note = 'not a part';
}

const namesOf = (entries: Iterable<readonly [string, unknown]>) => Array.from(entries, ([name]) => name);

describe('a module lists', () => {
  const net = new Net();

  test("parameters, its own first, as in torch's state dict", () => {
    expect(namesOf(net.namedParameters())).toEqual(['own', 'first.factor', 'list.0.factor']);
    expect([...net.parameters()]).toEqual([net.own, net.first.factor, (net.list[0] as Scale).factor]);
  });

  test('buffers likewise', () => {
    const buffers = new Map(net.namedBuffers());
    expect([...buffers.keys()]).toEqual(['ownBuffer', 'first.offset', 'list.0.offset']);
    expect(buffers.get('first.offset')).toBe(net.first.offset);
    expect(buffers.get('ownBuffer')!.shape).toEqual([]);
  });

  test('its submodules, each once', () => {
    expect(namesOf(net.namedChildren())).toEqual(['first', 'list', 'again']);
    expect([...net.children()]).toEqual([net.first, net.list, net.first]);
    expect(namesOf(net.namedModules())).toEqual(['', 'first', 'list', 'list.0', 'list.1']);
    expect(namesOf(net.first.namedModules('model'))).toEqual(['model']);
    expect(namesOf(net.first.namedParameters('model'))).toEqual(['model.factor']);
  });

  test('no modules in a plain array, which it rejects by name', () => {
    class Careless extends nn.Module {
      readonly layers = [new nn.Linear(2, 2)];
    }
    expect(() => [...new Careless().parameters()]).toThrow(ArgumentError);
    expect(() => [...new Careless().parameters()]).toThrow("Careless: the modules in the array 'layers'");
  });
});

test('a buffer is read when a graph runs, and has no gradient', async () => {
  const scale = new Scale();
  const output = scale.forward(tensor(Float32Array.of(1, 1)));
  scale.offset.data.set([10, 20]);
  expect([...(await output.array())]).toEqual([13, 24]);
  await output.sum().backward();
  expect([...scale.factor.grad!]).toEqual([1, 1]);
});

describe('train and eval', () => {
  test('reach every submodule, and return the module', () => {
    const net = new Net();
    const modes = () => Array.from(net.namedModules(), ([, { training }]) => training);
    expect(modes()).toEqual([true, true, true, true, true]);
    expect(net.eval()).toBe(net);
    expect(modes()).toEqual([false, false, false, false, false]);
    net.train();
    net.list.train(false);
    expect(modes()).toEqual([true, true, false, false, false]);
  });

  test('call train on each submodule, which may stay in evaluation', () => {
    class Frozen extends Scale {
      override train(): this {
        return super.train(false);
      }
    }
    const model = new nn.Sequential(new Frozen(), new Scale()).train();
    expect([model[0].training, model[1].training]).toEqual([false, true]);
  });
});

describe('ModuleList', () => {
  test('is a list of submodules that can grow', () => {
    const list = new nn.ModuleList([new nn.Linear(2, 3)]);
    const last = new nn.Linear(3, 1, { bias: false });
    expect(list.append(last)).toBe(list);
    expect(list.length).toBe(2);
    expect(list[1]).toBe(last);
    expect([...list].map((layer) => layer.weight.shape)).toEqual([
      [3, 2],
      [1, 3],
    ]);
    expect(namesOf(list.namedParameters())).toEqual(['0.weight', '0.bias', '1.weight']);
  });

  test('takes modules alone', () => {
    expect(() => new nn.ModuleList([undefined as unknown as nn.Module])).toThrow(
      'ModuleList: expected Modules, got',
    );
  });
});

describe('Dropout', () => {
  const ones = tensor(new Float32Array(10_000).fill(1));

  test('in training drops with the probability, and scales the rest accordingly', async () => {
    manualSeed(1);
    const output = (await new nn.Dropout(0.2).forward(ones).array()) as Float32Array;
    expect(new Set(output)).toEqual(new Set([0, 1.25]));
    const dropped = output.filter((element) => element === 0).length;
    // Five standard deviations of a binomial distribution: √(10,000·0.2·0.8) = 40.
    expect(Math.abs(dropped - 2000)).toBeLessThan(200);
  });

  test('in evaluation is the identity', () => {
    expect(new nn.Dropout(0.9).eval().forward(ones)).toBe(ones);
  });

  test('draws a new mask at every forward in one program, and masks the gradient equally', async () => {
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    const dropout = new nn.Dropout();
    const masks: string[] = [];
    for (let step = 0; step < 3; step += 1) {
      const x = new Parameter(new Float32Array(64).fill(1), [64]);
      const output = dropout.forward(x);
      await output.sum().backward();
      expect(await output.array()).toEqual(x.grad);
      masks.push(x.grad!.join());
    }
    expect(new Set(masks).size).toBe(3);
    // The program of the training steps writes the outputs.
    expect(compile).toHaveBeenCalledTimes(1);
    compile.mockRestore();
  });

  test.each([
    [0, 1],
    [1, 0],
  ])('p = %s always turns 1 into %s', async (p, expected) => {
    const output = (await F.dropout(ones, p).array()) as Float32Array;
    expect(output.every((element) => element === expected)).toBe(true);
  });
});

test.each([
  ['Map', new Map([['a', new nn.Linear(1, 1)]]), 'the modules in the Map'],
  ['Set', new Set([new nn.Linear(1, 1)]), 'the modules in the Set'],
  ['object', { a: new nn.Linear(1, 1) }, 'the modules in the object'],
  ['object of arrays', { a: [new nn.Linear(1, 1)] }, 'the modules in the object'],
  [
    'array of parameters',
    [new Parameter(new Float32Array(1), [1])],
    'the parameters and buffers in the array',
  ],
])('layers in an %s are rejected, because they would not be trained', (_, held, message) => {
  class Holder extends nn.Module {
    readonly held: unknown = held;
  }
  expect(() => [...new Holder().parameters()]).toThrow(`Holder: ${message} 'held' would not be found`);
});
