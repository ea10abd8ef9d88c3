import { describe, expect, test, vi } from 'vitest';
import type { DistributedParameter, GradientSink } from 'ringrun';
import { partition } from '../src/compiler/partition.ts';
import { onnxruntimeExecutor } from '../src/executor/onnxruntime.ts';
import { topologicalOrder } from '../src/graph/topology.ts';
import { F, manualSeed, nn, tensor, type Tensor } from '../src/index.ts';
import { exp, mul, neg } from '../src/ops/elementwise.ts';
import { split } from '../src/ops/shape.ts';
import { input } from '../src/ops/source.ts';
import { fill, fillClasses } from './fill.ts';
import { MnistCnn } from './mnist-cnn.ts';
import { expectClose } from './numeric.ts';
import './one-thread.ts';

describe('cut', () => {
  const x = input('float32', [4], { data: fill([4], 1) });
  const operatorsOf = (outputs: Parameters<typeof topologicalOrder>[0]) =>
    topologicalOrder(outputs).map(({ op }) => op);

  test('computes what two parts need in the first, and carries it to the second', () => {
    const shared = exp(x);
    const [first, second] = partition([[neg(shared)], [mul(shared, x)]]);
    expect(operatorsOf(first.outputs)).toEqual(['Input', 'Exp', 'Neg']);
    expect(first.carried.map(({ value }) => value)).toEqual([shared]);
    expect(operatorsOf(second.outputs)).toEqual(['Input', 'Input', 'Mul']);
    expect(second.outputs[0].node.inputs[0]).toBe(first.carried[0].leaf.value);
    expect(second.carried).toEqual([]);
  });

  test('carries past a part that does not need it, and one output of several', () => {
    const [left, right] = split(exp(x), 0, 2);
    const [first, second, third] = partition([[neg(left)], [neg(x)], [neg(right)]]);
    expect(first.carried.map(({ value }) => value)).toEqual([right]);
    expect(second.carried).toEqual([]);
    expect(operatorsOf(third.outputs)).toEqual(['Input', 'Neg']);
  });

  test('gives a value twice where two parts are asked for it', () => {
    const value = exp(x);
    const [first, second] = partition([[value], [value]]);
    expect(first.outputs).toEqual([value]);
    expect(second.outputs).toEqual([first.carried[0].leaf.value]);
  });

  test('leaves a graph in one part as it is', () => {
    const value = neg(exp(x));
    expect(partition([[value]])).toEqual([{ outputs: [value], carried: [] }]);
  });
});

/** Receives gradients in buckets, and records the order in which they become ready. */
class BucketSink implements GradientSink {
  readonly ready: string[] = [];
  readonly #arrays = new Map<DistributedParameter, Float32Array>();
  readonly #names: Map<DistributedParameter, string>;
  readonly #buckets: Readonly<Record<string, number>>;

  constructor(model: nn.Module, buckets: Readonly<Record<string, number>>) {
    this.#names = new Map([...model.namedParameters()].map(([name, parameter]) => [parameter, name]));
    this.#buckets = buckets;
    for (const parameter of model.parameters()) {
      this.#arrays.set(parameter, new Float32Array(parameter.data.length));
      parameter.gradientSink = this;
    }
  }

  arrayOf(parameter: DistributedParameter): Float32Array {
    return this.#arrays.get(parameter)!;
  }

  bucketIndexOf(parameter: DistributedParameter): number {
    return this.#buckets[this.#names.get(parameter)!.split('.')[0]];
  }

  gradientReady(parameter: DistributedParameter): void {
    this.ready.push(this.#names.get(parameter)!);
  }

  async backwardDone(): Promise<void> {
    // Nothing is averaged.
  }
}

describe('a backward pass in buckets', () => {
  const batch = 16;
  const loss = (model: MnistCnn): Tensor => {
    const shape = [batch, 1, 28, 28];
    const output = model.forward(tensor(fill(shape, 1), shape));
    return F.nllLoss(output, tensor(fillClasses(batch, 10, 1)));
  };
  const gradients = (model: MnistCnn) =>
    [...model.namedParameters()].map(([name, { grad }]) => ({ name, grad: grad! }));

  test.each([
    ['two', { conv1: 1, conv2: 1, fc1: 0, fc2: 0 }],
    ['four, in the order of the forward pass', { conv1: 0, conv2: 1, fc1: 2, fc2: 3 }],
    ['four, backwards', { conv1: 3, conv2: 2, fc1: 1, fc2: 0 }],
  ])('computes the gradients of an undivided pass: %s', async (_, buckets) => {
    manualSeed(1);
    const whole = new MnistCnn();
    manualSeed(1);
    const model = new MnistCnn();
    const sink = new BucketSink(model, buckets);
    const [expected, actual] = [loss(whole), loss(model)];
    await expected.backward();
    await actual.backward();
    expect(await actual.item()).toBeCloseTo(await expected.item(), 6);
    for (const [position, { name, grad }] of gradients(whole).entries()) {
      expectClose(name, gradients(model)[position].grad, grad, 1e-5);
    }
    const order = sink.ready.map((name) => (buckets as Record<string, number>)[name.split('.')[0]]);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('reports each bucket before the next is computed', async () => {
    const model = new MnistCnn();
    const sink = new BucketSink(model, { conv1: 2, conv2: 1, fc1: 0, fc2: 0 });
    const readyAtRun: number[] = [];
    const compile = onnxruntimeExecutor.compile.bind(onnxruntimeExecutor);
    const spy = vi.spyOn(onnxruntimeExecutor, 'compile').mockImplementation(async (definition) => {
      const program = await compile(definition);
      return {
        run: (inputs, outputs) => {
          readyAtRun.push(sink.ready.length);
          return program.run(inputs, outputs);
        },
        release: () => program.release(),
      };
    });
    await loss(model).backward();
    spy.mockRestore();
    expect(readyAtRun).toEqual([0, 4, 6]);
  });

  test('compiles its parts once, and passes take turns in them', async () => {
    const model = new nn.Linear(5, 3);
    new BucketSink(model, { weight: 1, bias: 0 });
    const error = (seed: number) => {
      const output = model.forward(tensor(fill([4, 5], seed), [4, 5]));
      return output.mul(output).mean();
    };
    await error(1).backward();
    const spy = vi.spyOn(onnxruntimeExecutor, 'compile');
    model.zeroGrad();
    await error(2).backward();
    await error(3).backward();
    const expected = [...model.weight.grad!];
    model.zeroGrad();
    await Promise.all([error(2).backward(), error(3).backward()]);
    expect([...model.weight.grad!]).toEqual(expected);
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  });
});
