import { expect, test } from 'vitest';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import { executorOn } from '../../../src/executor/cuda/cuda.ts';
import { joinEqualUnits } from '../../../src/executor/cuda/equal-units.ts';
import { unitsOf } from '../../../src/executor/cuda/units.ts';
import { hasCommands } from '../../../src/executor/cuda/operators.ts';
import { setGpuExecutor } from '../../../src/executor/select.ts';
import type { Value } from '../../../src/graph/node.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { add, exp, mul } from '../../../src/ops/elementwise.ts';
import { reduceSum } from '../../../src/ops/reduction.ts';
import { constant, input } from '../../../src/ops/source.ts';
import { Parameter, optim, setDefaultDevice, tensor } from '../../../src/index.ts';
import { sizeOf } from '../../../src/value-type.ts';
import { numbers } from '../../support/cuda.ts';
import '../../support/one-thread.ts';

const leaf = (...shape: number[]) => input('float32', shape, { data: numbers(shape, sizeOf(shape)) });

const joinedOps = (outputs: readonly Value[]) =>
  joinEqualUnits(unitsOf(topologicalOrder(outputs).filter(hasCommands))).map(({ groups }) =>
    groups.map((nodes) => nodes.map(({ op }) => op).join(' ')),
  );

test('equal programs of arrays of several sizes are joined', () => {
  const rate = leaf();
  const update = (x: Value) => add(x, mul(rate, exp(x)));
  expect(joinedOps([update(leaf(3)), update(leaf(2, 4)), mul(leaf(3), rate), update(leaf(5))])).toEqual([
    ['Exp Mul Add', 'Exp Mul Add', 'Exp Mul Add'],
    ['Mul'],
  ]);
});

test('a unit that reads the results of an equal one follows it', () => {
  const x = leaf(3);
  expect(joinedOps([exp(add(leaf(2), reduceSum(exp(x)))), exp(leaf(4))])).toEqual([
    ['Exp', 'Exp'],
    ['ReduceSum'],
    ['Add Exp'],
  ]);
});

test('what may write over a leaf stays after another unit that reads the leaf', () => {
  const double = (x: Value) => mul(x, constant(2));
  const [x, y] = [leaf(3), leaf(3)];
  expect(joinedOps([double(x), reduceSum(y), double(y)])).toEqual([['Mul'], ['ReduceSum'], ['Mul']]);
  expect(joinedOps([double(x), reduceSum(x), double(y)])).toEqual([['Mul', 'Mul'], ['ReduceSum']]);
});

const optimizers: Record<string, (parameters: readonly Parameter[]) => optim.Optimizer> = {
  SGD: (parameters) => new optim.SGD(parameters, { lr: 0.1 }),
  'SGD with Nesterov momentum': (parameters) =>
    new optim.SGD(parameters, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }),
  Adam: (parameters) => new optim.Adam(parameters, { lr: 0.1, amsgrad: true }),
  AdamW: (parameters) => new optim.AdamW(parameters, { lr: 0.1 }),
  Adagrad: (parameters) => new optim.Adagrad(parameters, { lr: 0.1 }),
  Adadelta: (parameters) => new optim.Adadelta(parameters, { lr: 0.1 }),
  RMSprop: (parameters) => new optim.RMSprop(parameters, { lr: 0.1, momentum: 0.9, centered: true }),
  NAdam: (parameters) => new optim.NAdam(parameters, { lr: 0.1 }),
  RAdam: (parameters) => new optim.RAdam(parameters, { lr: 0.1 }),
  Lion: (parameters) => new optim.Lion(parameters, { lr: 0.1 }),
};

/** Names of the commands of each program of an optimizer, in the order of their first runs. */
const updates: string[][] = [];
const device = fakeDevice();
const gpu = executorOn(
  new Proxy(device, {
    get: (target, name: keyof typeof device): unknown => {
      if (name !== 'createProgram') {
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (program: Parameters<typeof device.createProgram>[0]) => {
        if (program.name === 'optimizer.step') updates.push(program.commands.map((command) => command.name));
        return target.createProgram(program);
      };
    },
  }),
);

const shapeOf = (index: number) => (index === 6 ? [3, 1500] : index % 3 === 0 ? [7] : [2, 4]);

/** Some parameters after three steps, with all of them in one optimizer or each in its own. */
async function trained(name: string, count: number, together: boolean): Promise<Float32Array[]> {
  const shapes = Array.from({ length: count }, (_, index) => shapeOf(index));
  const parameters = shapes.map((shape, seed) => new Parameter(numbers(shape, seed), shape));
  const groups = together ? [parameters] : parameters.map((parameter) => [parameter]);
  const all = groups.map((group) => optimizers[name](group));
  for (let step = 0; step < 3; step += 1) {
    const products = parameters.map((parameter, k) =>
      parameter
        .pow(2)
        .mul(tensor(numbers([1], k + step)))
        .sum(),
    );
    await products.reduce((sum, product) => sum.add(product)).backward();
    for (const optimizer of all) {
      await optimizer.step();
      optimizer.zeroGrad();
    }
  }
  return parameters.map(({ data }) => data.slice());
}

test.each([
  // In its first steps, RAdam updates a parameter and its average of squares independently.
  ...Object.keys(optimizers).map((name) => [name, 9, name === 'RAdam' ? 2 : 1] as const),
  // The parameters of a launch hold 126 tensors.
  ['SGD', 130, 2] as const,
])('%s updates %i parameters by few launches, bit-identically', async (name, count, launches) => {
  const before = setGpuExecutor(() => gpu);
  setDefaultDevice('cuda');
  try {
    const expected = await trained(name, count, false);
    updates.length = 0;
    const found = await trained(name, count, true);
    for (const [k, elements] of expected.entries()) expect(found[k], `parameter ${k}`).toEqual(elements);
    expect(updates.length).toBeGreaterThan(0);
    for (const commands of updates) expect(commands).toHaveLength(launches);
  } finally {
    setDefaultDevice(undefined);
    setGpuExecutor(before);
  }
});
