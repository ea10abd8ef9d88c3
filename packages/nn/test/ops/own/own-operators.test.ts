import { afterEach, describe, expect, test } from 'vitest';
import { allOnHost } from '../../../src/executor/value-buffer.ts';
import { emitModel } from '../../../src/executor/cpu/emit.ts';
import { fuseElementwise } from '../../../src/executor/cpu/fuse-elementwise.ts';
import { newArray, type TensorData } from '../../../src/dtype.ts';
import { compileModel } from '../../../src/executor/cpu/onnxruntime.ts';
import type { Value } from '../../../src/graph/node.ts';
import { sizeOf } from '../../../src/value-type.ts';
import type { CollectiveGroup } from '../../../src/graph/attributes.ts';
import { structureOf, type Leaf } from '../../../src/graph/structure.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { GraphBuilder } from '../../../src/onnx-format/graph-builder.ts';
import { ModelProto } from '../../../src/onnx-format/schema.ts';
import { setOwnOperators } from '../../../src/ops/own/enabled.ts';
import { allReduce } from '../../../src/ops/collective.ts';
import { addDependency } from '../../../src/ops/dependency.ts';
import { abs, tanh } from '../../../src/ops/functions.ts';
import {
  add,
  div,
  equal,
  exp,
  greater,
  greaterOrEqual,
  isNaN,
  max,
  min,
  mul,
  neg,
  or,
  relu,
  sqrt,
  sub,
  where,
} from '../../../src/ops/elementwise.ts';
import { reshape } from '../../../src/ops/shape.ts';
import { matmul } from '../../../src/ops/linear-algebra.ts';
import { input } from '../../../src/ops/source.ts';
import { F, manualSeed, nn, optim, Parameter, programCache, tensor } from '../../../src/index.ts';
import { worstUlps } from '../../support/both-ways.ts';
import { randomNumbers } from '../../../../../test/support/random-numbers.ts';
import { fill } from '../../support/fill.ts';
import { MnistCnn } from '../../support/mnist-cnn.ts';
import '../../support/one-thread.ts';

afterEach(() => {
  setOwnOperators(true);
});

/** Around the widths of vectors: 4, 8 and 16 elements. */
const sizes = [0, 1, 7, 8, 9, 15, 16, 17, 63, 65, 1023];

/** Computes values with and without the operators of the addon. */
async function bothWays(values: readonly Value[]): Promise<{ own: TensorData[]; plain: TensorData[] }> {
  const { leaves } = structureOf(values);
  const own = emitModel(leaves, fuseElementwise(values));
  setOwnOperators(false);
  const plain = emitModel(leaves, values);
  setOwnOperators(true);
  expect([own, plain].map((model) => domainsOf(model).has('ringrun'))).toEqual([true, false]);
  return { own: await computed(leaves, values, own), plain: await computed(leaves, values, plain) };
}

async function computed(leaves: readonly Leaf[], values: readonly Value[], model: Uint8Array) {
  const inputs = leaves.map(({ value }) => value);
  const definition = { name: 'test', model, inputs, outputs: values, isLong: false };
  const program = await compileModel(definition);
  const outputs = values.map(({ dtype, shape }) => newArray(dtype, sizeOf(shape)));
  await program.run(allOnHost(leaves.map(({ source }) => source.data)), allOnHost(outputs));
  await program.release();
  return outputs;
}

/** Bits of each element; every NaN has the same bits. */
function bitsOf(arrays: readonly TensorData[]): (readonly number[])[] {
  return arrays.map((array) =>
    array instanceof Float32Array
      ? [...new Uint32Array(array.map((element) => (Number.isNaN(element) ? NaN : element)).buffer)]
      : Array.from(array, Number),
  );
}

function domainsOf(model: Uint8Array): Set<string> {
  const { graph } = ModelProto.decode(model) as unknown as { graph: { node: { domain: string }[] } };
  return new Set(graph.node.map(({ domain }) => domain));
}

const leaf = (shape: readonly number[], seed: number): Value =>
  input('float32', shape, { data: fill(shape, seed) });

describe('an operator of the addon', () => {
  /** y = AddDependency(a, b…), with these inputs and attributes instead of the right ones. */
  const compiled = async (types: readonly Value[], output: Value) => {
    const graph = new GraphBuilder();
    const names = types.map((_, position) => `input_${position}`);
    for (const [position, { dtype, shape }] of types.entries()) graph.input(names[position], dtype, shape);
    graph.output('output_0', output.dtype, output.shape);
    graph.ownNode('AddDependency', names, ['output_0']);
    const definition = { name: 'test', inputs: types, outputs: [output], isLong: false };
    return compileModel({ ...definition, model: graph.encode() });
  };
  const run = async (types: readonly Value[], output: Value, arrays: readonly TensorData[]) => {
    const result = new Float32Array(sizeOf(output.shape));
    await (await compiled(types, output)).run(allOnHost(arrays), allOnHost([result]));
    return result;
  };

  test('accepts any number of inputs', async () => {
    const values = [leaf([3], 1), leaf([2], 2), leaf([4], 3)];
    const arrays = values.map(({ shape }, seed) => fill(shape, seed));
    expect(await run(values, values[0], arrays)).toEqual(arrays[0]);
  });

  test('fails with its message, and later runs succeed', async () => {
    const [nine, x] = [leaf([1, 1, 1, 1, 1, 1, 1, 1, 1], 1), leaf([2], 2)];
    const program = await compiled([nine, x], nine);
    const arrays = [new Float32Array(1), new Float32Array(2)];
    await expect(program.run(allOnHost(arrays), allOnHost([new Float32Array(1)]))).rejects.toThrow(
      'AddDependency: expected at most 8 dimensions, got 9',
    );
    expect(await run([x, x], x, [Float32Array.of(3, 4), new Float32Array(2)])).toEqual(Float32Array.of(3, 4));
  });

  test('is not compiled with inputs of other types', async () => {
    const x = leaf([2], 1);
    const integers = input('int64', [2], { data: new BigInt64Array(2) });
    await expect(compiled([integers, x], integers)).rejects.toThrow(/could not compile a graph: .*int64/);
    // A dependency may have any type.
    const copied = await compiled([x, integers], x);
    const result = new Float32Array(2);
    await copied.run(allOnHost([Float32Array.of(3, 4), new BigInt64Array(2)]), allOnHost([result]));
    expect(result).toEqual(Float32Array.of(3, 4));
  });
});

describe('AddDependency', () => {
  test.each(sizes)('of %i elements', async (size) => {
    const [x, y] = [leaf([size], 1), leaf([3], 2)];
    // The value is read again, so that it is not computed in place.
    const doubled = mul(x, x);
    const { own, plain } = await bothWays([add(addDependency(doubled, add(y, y)), doubled)]);
    expect(own).toEqual(plain);
  });
});

/** Includes values with special rounding or comparison. */
const special = [NaN, 0, -0, Infinity, -Infinity, 1e-42, -1e-42, 3e38, 1, -1];
const specialLeaf = (shape: readonly number[], seed: number): Value => {
  const data = fill(shape, seed);
  for (let i = seed; i < data.length; i += 3) data[i] = special[(i + seed * 7) % special.length];
  return input('float32', shape, { data });
};

describe('Elementwise', () => {
  const operatorsOf = (values: readonly Value[]) => topologicalOrder(values).map(({ op }) => op);
  const binary = { add, sub, mul, div, max, min };
  const comparisons = { greater, greaterOrEqual, equal };

  test.each(Object.entries({ ...binary, ...comparisons }))(
    '%s is bit-identical to the operator',
    async (_, op) => {
      const [a, b] = [specialLeaf([1023], 1), specialLeaf([1023], 2)];
      const result = op(neg(a), abs(b));
      const number = result.dtype === 'bool' ? where(result, a, b) : result;
      const { own, plain } = await bothWays([number]);
      expect(bitsOf(own)).toEqual(bitsOf(plain));
    },
  );

  test.each(Object.entries({ neg, abs, sqrt, relu }))(
    '%s is bit-identical to the operator',
    async (_, op) => {
      const { own, plain } = await bothWays([op(add(specialLeaf([1023], 1), leaf([1], 2)))]);
      expect(bitsOf(own)).toEqual(bitsOf(plain));
    },
  );

  test.each(sizes.filter((size) => size > 0))(
    'of %i elements: numbers, conditions and masks',
    async (size) => {
      const [a, b, scale] = [specialLeaf([size], 1), specialLeaf([size], 2), leaf([], 3)];
      const { outputs } = relu(sub(a, b)).node;
      const isLarger = or(greater(a, b), isNaN(b));
      const values = [mul(outputs[0], scale), where(isLarger, a, sqrt(abs(b))), isLarger, outputs[1]];
      const { own, plain } = await bothWays(values);
      expect(bitsOf(own)).toEqual(bitsOf(plain));
    },
  );

  test('more elements than one thread computes at a time', async () => {
    const [a, b] = [leaf([40_001], 1), leaf([40_001], 2)];
    const { own, plain } = await bothWays([sub(a, mul(b, div(a, b)))]);
    expect(bitsOf(own)).toEqual(bitsOf(plain));
  });

  test('reads and renames values of other shapes', async () => {
    const [a, b] = [leaf([2, 3, 4], 1), leaf([4, 6], 2)];
    const sum = add(reshape(a, [24]), reshape(b, [24]));
    const square = reshape(mul(sum, sum), [8, 3]);
    const values = [add(square, reshape(b, [8, 3])), square, reshape(a, [24])];
    expect(operatorsOf(fuseElementwise(values)).filter((op) => op === 'Elementwise')).toHaveLength(1);
    const { own, plain } = await bothWays(values);
    expect(bitsOf(own)).toEqual(bitsOf(plain));
  });

  test('leaves out a node if another of its inputs depends on the group', async () => {
    const [a, b] = [leaf([4, 4], 1), leaf([4, 4], 2)];
    const first = mul(add(a, b), a);
    // A second group depends on the first one, which must not take over its last node.
    const second = sub(mul(matmul(first, b), b), add(a, a));
    const values = [add(first, second), add(add(a, a), first)];
    const { own, plain } = await bothWays(values);
    expect(bitsOf(own)).toEqual(bitsOf(plain));
  });

  test('two groups never read each other, in any order of the nodes', async () => {
    const [x, y] = [leaf([3], 1), leaf([3], 2)];
    const [ofX, ofY] = [neg(x), neg(y)];
    const [opaqueX, opaqueY] = [exp(ofX), exp(ofY)];
    const values = [opaqueX, mul(add(ofX, opaqueY), x), mul(add(ofY, opaqueX), y)];
    const { own, plain } = await bothWays(values);
    expect(bitsOf(own)).toEqual(bitsOf(plain));
  });

  test.each(Array.from({ length: 30 }, (_, seed) => seed))('random graph %i', async (seed) => {
    const random = randomNumbers(seed + 1);
    const values = [leaf([3], 1), leaf([3], 2)];
    const pick = () => values[Math.floor(random() * values.length)];
    for (let i = 0; i < 30; i += 1) {
      // A function that joins no group for every second operator.
      values.push(random() < 0.5 ? tanh(pick()) : random() < 0.5 ? mul(pick(), pick()) : sub(pick(), pick()));
    }
    const outputs = values.filter(() => random() < 0.5);
    const { own, plain } = await bothWays([...outputs, mul(add(values[0], values[1]), values[0])]);
    expect(bitsOf(own)).toEqual(bitsOf(plain));
  });

  test('leaves out a node that reads a later collective than one fed by the group', async () => {
    const [a, b] = [leaf([4], 1), leaf([4], 2)];
    const group = { rank: 0, size: 2 } as CollectiveGroup;
    const first = mul(add(a, b), a);
    // The second collective does not read the first one, but runs after it.
    const [sum, later] = [allReduce(first, group), allReduce(b, group)];
    const values = [add(mul(first, later), later), sum];
    const fused = fuseElementwise(values);
    expect(operatorsOf(fused).filter((op) => op === 'Elementwise')).toHaveLength(2);
    const { leaves } = structureOf(values);
    const model = emitModel(leaves, fused);
    const inputs = leaves.map(({ value }) => value);
    const definition = { name: 'test', model, inputs, outputs: values, isLong: false };
    await (await compileModel(definition)).release();
  });

  test('leaves broadcasting, integers and empty arrays unchanged', () => {
    const [row, matrix] = [leaf([4], 1), leaf([3, 4], 2)];
    const integers = input('int64', [4], { data: new BigInt64Array(4) });
    const values = [
      mul(add(matrix, row), row),
      add(add(integers, integers), integers),
      neg(neg(leaf([0], 1))),
    ];
    expect(fuseElementwise(values)).toEqual(values);
  });

  test('fails with its message for an invalid program', async () => {
    const [x, y] = [leaf([2], 1), leaf([2], 2)];
    const compiled = (code: readonly number[]) => {
      const graph = new GraphBuilder();
      graph.input('input_0', 'float32', [2]);
      graph.output('output_0', 'float32', [2]);
      const rest = { inputs: [0, 0, 1], outputs: [0, 0, 1], results: [1], shapes: [1, 2] };
      const unused = Array<string>(12).fill('');
      graph.ownNode('Elementwise', [...unused, 'input_0'], [...unused, 'output_0'], { code, ...rest });
      const definition = { name: 'test', inputs: [x], outputs: [y], isLong: false };
      return compileModel({ ...definition, model: graph.encode() });
    };
    await expect(compiled([99, 0, 0, 0])).rejects.toThrow('Elementwise: unknown opcode 99');
    await expect(compiled([0, 0, 1, 0])).rejects.toThrow('expected an earlier value, got 1');
    await expect(compiled([0, 0, 0, 7])).rejects.toThrow('expected 0 for operands that it does not have');
    await expect(compiled([15, 0, 0, 0])).rejects.toThrow('operand 0 of instruction 0: expected a condition');
    await compiled([0, 0, 0, 0]);
  });
});

describe('the update of', () => {
  test.each<[string, (parameters: Parameter[]) => optim.Optimizer]>([
    ['SGD', (p) => new optim.SGD(p, { lr: 0.1 })],
    [
      'SGD with momentum',
      (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9, dampening: 0.1, weightDecay: 0.01 }),
    ],
    ['SGD with Nesterov momentum', (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true })],
    ['Adam', (p) => new optim.Adam(p, { weightDecay: 0.01, amsgrad: true })],
    ['AdamW', (p) => new optim.AdamW(p)],
    ['RMSprop', (p) => new optim.RMSprop(p, { momentum: 0.9, centered: true })],
    ['Adadelta', (p) => new optim.Adadelta(p, { weightDecay: 0.01 })],
  ])('%s is bit-identical to plain operators', async (_, create) => {
    const trained = async (on: boolean) => {
      programCache.clear();
      setOwnOperators(on);
      const parameters = sizes.slice(1).map((size) => new Parameter(fill([size], size), [size]));
      const optimizer = create(parameters);
      for (let step = 0; step < 3; step += 1) {
        for (const [seed, parameter] of parameters.entries()) {
          const factors = tensor(fill(parameter.shape, seed + 20 * step), parameter.shape);
          await parameter.mul(factors).sum().backward();
        }
        await optimizer.step();
        optimizer.zeroGrad();
      }
      const states = Object.values(optimizer.stateDict().state).flatMap((state) => Object.values(state));
      return [...parameters.map(({ data }) => data), ...states.filter((state) => typeof state === 'object')];
    };
    const [own, plain] = [await trained(true), await trained(false)];
    expect(bitsOf(own as TensorData[])).toEqual(bitsOf(plain as TensorData[]));
  });
});

test('three training steps of the MNIST CNN are those of plain operators but for the order of sums', async () => {
  const train = async (on: boolean) => {
    programCache.clear();
    setOwnOperators(on);
    manualSeed(1);
    const model = new MnistCnn();
    // Trained too: the first convolution of data without a gradient uses Toom-Cook's operator, whose bits differ.
    const images = new Parameter(fill([16, 1, 28, 28], 0), [16, 1, 28, 28]);
    // Not the biases of convolutions, whose gradients max-pool's operator sums in double precision.
    for (const conv of model.children()) {
      if (conv instanceof nn.Conv2d) conv.bias!.requiresGrad = false;
    }
    const trained = [...model.parameters(), images].filter(({ requiresGrad }) => requiresGrad);
    const optimizer = new optim.SGD(trained, { lr: 0.01, momentum: 0.9 });
    // No cross-entropy, whose bits differ.
    const targets = tensor(fill([16, 10], 7), [16, 10]);
    for (let step = 0; step < 3; step += 1) {
      optimizer.zeroGrad();
      await F.mseLoss(model.forward(images), targets).backward();
      await optimizer.step();
    }
    return trained.map(({ data }) => data);
  };
  const [own, plain] = [await train(true), await train(false)];
  for (const [position, array] of own.entries()) expect(worstUlps(array, plain[position])).toBeLessThan(16);
});
