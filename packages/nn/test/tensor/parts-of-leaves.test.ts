// Parts of tensors whose elements are arrays: no programs of their own, and no copies of the whole.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  BufferTensor,
  F,
  Parameter,
  arange,
  autograd,
  compileStep,
  exportOnnx,
  nn,
  noGrad,
  optim,
  programCache,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { isNode } from '../../src/graph/node.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const shape = [6, 2, 2];
const elements = () => fill(shape, 1);
const rows = (from: number, to = from + 1) => [...elements().slice(4 * from, 4 * to)];

beforeEach(() => {
  programCache.clear();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const parts: Readonly<Record<string, (x: Tensor) => [Tensor, number[], number[]]>> = {
  'at of a range': (x) => [x.at([2, 4]), [2, 2, 2], rows(2, 4)],
  'at of a number': (x) => [x.at(-2), [2, 2], rows(4)],
  'at of numbers': (x) => [x.at(3, 1), [2], rows(3).slice(2)],
  'at of a range of a range': (x) => [x.at([1, 5]).at([2]), [2, 2, 2], rows(3, 5)],
  'at of a reshaped tensor': (x) => [x.view(6, 4).at([2, 4]), [2, 4], rows(2, 4)],
  slice: (x) => [x.slice(0, 4), [2, 2, 2], rows(4, 6)],
  narrow: (x) => [x.narrow(0, -3, 2), [2, 2, 2], rows(3, 5)],
  select: (x) => [x.select(0, 5), [2, 2], rows(5)],
  split: (x) => [x.split([2, 4])[1], [4, 2, 2], rows(2, 6)],
  'at of indices': (x) => [x.at(tensor([5, -6])), [2, 2, 2], [...rows(5), ...rows(0)]],
  'at of an index without dimensions': (x) => [x.at(tensor(4)), [2, 2], rows(4)],
  indexSelect: (x) => [x.indexSelect(0, arange(3, 5)), [2, 2, 2], rows(3, 5)],
};

describe.each(Object.entries(parts))('%s', (_, part) => {
  test('has the elements, and is no operation', async () => {
    const [value, expectedShape, expected] = part(tensor(elements(), shape));
    expect(value.shape).toEqual(expectedShape);
    expect(isNode(value.value.node, 'Input')).toBe(true);
    expect([...(await value.array())]).toEqual(expected);
  });

  test('passes a gradient to a tensor that requires it', async () => {
    const x = tensor(elements(), shape).requiresGrad_();
    const [value, , { length }] = part(x);
    await value.sum().backward();
    expect(x.grad!.reduce((sum, slope) => sum + slope)).toBe(length);
  });

  test('is a part of the given tensor in a compiled step', async () => {
    const weight = new Parameter(Float32Array.of(1), [1]);
    const step = compileStep(new optim.SGD([weight], { lr: 0 }), (x: Tensor) => part(x)[0].mul(weight).sum());
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
    const [, , expected] = part(tensor(elements(), shape));
    expect(await (await step(tensor(elements(), shape))).item()).toBeCloseTo(sum(expected), 5);
    const doubled = elements().map((element) => 2 * element);
    expect(await (await step(tensor(doubled, shape))).item()).toBeCloseTo(2 * sum(expected), 5);
  });
});

test('a slice is a view of the array; rows at indices are copies, as in torch', async () => {
  const array = elements();
  const x = tensor(array, shape);
  const [view, copy] = [x.at([1, 2]), x.at(tensor([1]))];
  array.fill(7);
  expect([...(await view.array())]).toEqual([7, 7, 7, 7]);
  expect([...(await copy.array())]).toEqual(rows(1));
});

test('the parts of a dataset in memory train with one program', async () => {
  const layer = new nn.Linear(4, 2);
  const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
  const [x, y] = [tensor(fill([40, 4], 1), [40, 4]), tensor(fill([40, 2], 2), [40, 2])];
  const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
  for (let first = 0; first < 40; first += 4) {
    const batch = [first, first + 4];
    await F.mseLoss(layer.forward(x.at(batch)), y.at(batch)).backward();
    await optimizer.step();
  }
  expect(compile.mock.calls.length).toBeLessThanOrEqual(2);
});

test('noGrad has the same parts', async () => {
  const part = noGrad(() => tensor(elements(), shape).at([1, 2]));
  expect([...(await part.array())]).toEqual(rows(1));
});

test('a buffer that changes later has its new elements in a part', async () => {
  const buffer = new BufferTensor(elements(), shape);
  const part = buffer.at([1, 2]);
  buffer.data.fill(3);
  expect([...(await part.array())]).toEqual([3, 3, 3, 3]);
});

test('an exported model takes the part of its input', () => {
  class FirstRows extends nn.Module {
    forward(x: Tensor): Tensor {
      return x.at([0, 1]);
    }
  }
  expect(String.fromCharCode(...exportOnnx(new FirstRows(), { inputShape: [4, 3] }))).toContain('Slice');
});

test('a gradient with respect to the whole is refused for a part that was cut before', () => {
  const x = tensor(elements(), shape);
  const part = x.at([1, 2]);
  x.requiresGrad = true;
  expect(() => autograd.grad(part.sum(), [x])).toThrow('grad');
});
