import { DistributedDataParallel, type ProcessGroup } from 'ringrun';
import { expect, test } from 'vitest';
import {
  compileStep,
  F,
  manualSeed,
  nn,
  optim,
  type Parameter,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

/** A language model whose embedding is the weight of its last layer. */
class Tied extends nn.Module {
  readonly embedding = new nn.Embedding(5, 3);
  readonly head: nn.Linear & { weight: Parameter } = new nn.Linear(3, 5, { bias: false });

  constructor() {
    super();
    Object.assign(this.head, { weight: this.embedding.weight });
  }

  forward(rows: Tensor): Tensor {
    return this.head.forward(this.embedding.forward(rows));
  }
}

const rows = tensor(BigInt64Array.of(0n, 2n, 4n));
const target = tensor(BigInt64Array.of(1n, 2n, 0n));

function made() {
  manualSeed(1);
  return new Tied();
}

test('a tied weight is listed, stored and optimized once', () => {
  const model = made();
  expect([...model.namedParameters()].map(([name]) => name)).toEqual(['embedding.weight']);
  expect([...model.stateDict().keys()]).toEqual(['embedding.weight']);
  expect(new optim.SGD(model.parameters(), { lr: 1 }).paramGroups[0].params).toHaveLength(1);
});

test('its gradient is the sum of both uses', async () => {
  const model = made();
  await F.crossEntropy(model.forward(rows), target).backward();
  const parts = [new nn.Embedding(5, 3), new nn.Linear(3, 5, { bias: false })] as const;
  for (const { weight } of parts) weight.data.set(model.embedding.weight.data);
  await F.crossEntropy(parts[1].forward(parts[0].forward(rows)), target).backward();
  const sum = parts[0].weight.grad!.map((element, i) => element + parts[1].weight.grad![i]);
  expectClose('gradient', model.embedding.weight.grad!, [...sum], 1e-6);
});

test('DistributedDataParallel sends its gradient once', () => {
  const lengths: number[] = [];
  const group = {
    rank: 0,
    size: 1,
    transport: 'shm',
    allGatherObjectSync: (object: unknown) => [object],
    broadcastSync: () => undefined,
    allocateSync: (_: string, length: number) => {
      lengths.push(length);
      return new Float32Array(length);
    },
  } as unknown as ProcessGroup;
  new DistributedDataParallel(made(), { processGroup: group });
  // The elements, a number for the parameter, and one for the rank.
  expect(lengths).toEqual([5 * 3 + 1 + 1]);
});

test('one step updates it once, with and without compileStep', async () => {
  const [model, other] = [made(), made()];
  const lossOf = (tied: Tied) => F.crossEntropy(tied.forward(rows), target);
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
  const before = model.embedding.weight.data.slice();
  await lossOf(model).backward();
  await optimizer.step();
  const { data, grad } = model.embedding.weight;
  expectClose('weight', data, [...before.map((element, i) => element - 0.5 * grad![i])], 1e-6);
  await compileStep(new optim.SGD(other.parameters(), { lr: 0.5 }), () => lossOf(other))();
  expect(other.embedding.weight.data).toEqual(data);
});

test.each([[['embedding.weight', 'head.weight']], [['head.weight']], [['embedding.weight']]])(
  'loads what torch stores under %s',
  (keys) => {
    const model = made();
    const stored = { shape: [5, 3], data: Float32Array.from({ length: 15 }, (_, i) => i) };
    const state = Object.fromEntries(keys.map((key) => [key, stored]));
    expect(model.loadStateDict(state)).toEqual({ missingKeys: [], unexpectedKeys: [] });
    expect(model.head.weight.data).toEqual(stored.data);
  },
);

test('rejects a copy of another shape, and loads nothing', () => {
  const model = made();
  const before = model.stateDict();
  const state = {
    'embedding.weight': { shape: [5, 3], data: new Float32Array(15) },
    'head.weight': { shape: [3, 5], data: new Float32Array(15) },
  };
  expect(() => model.loadStateDict(state)).toThrow('head.weight must have shape [5,3], got [3,5]');
  expect(model.stateDict()).toEqual(before);
});
