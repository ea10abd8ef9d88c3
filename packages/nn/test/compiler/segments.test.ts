// Graphs whose structure changes from run to run: their parts are compiled once, and other graphs run them again.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { summarizeProgram } from '../../src/compiler/recompilation-warning.ts';
import { ChangingStructures } from '../../src/compiler/segments/changing-structures.ts';
import { cut } from '../../src/compiler/segments/cut.ts';
import { SegmentedGraph } from '../../src/compiler/segments/segmented-graph.ts';
import { Signatures } from '../../src/compiler/segments/signatures.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { ValueNumbers } from '../../src/graph/value-numbers.ts';
import {
  F,
  Parameter,
  cat,
  manualSeed,
  nn,
  optim,
  programCache,
  stack,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import '../support/one-thread.ts';

let stderr = '';
beforeEach(() => {
  programCache.clear();
  stderr = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A loss over the steps of an episode, each with its own forward pass. */
function episode(policy: nn.Module & { forward(x: Tensor): Tensor }, length: number): Tensor {
  const steps = Array.from({ length }, (_, step) => {
    const chances = F.logSoftmax(policy.forward(tensor(fill([1, 4], step), [1, 4])), 1);
    return chances
      .select(1, step % 2)
      .mul(Math.sin(step))
      .sum();
  });
  return stack(steps).mean();
}

/** One cell after another, and the output of some steps as the input of the next. */
function sampled(cell: nn.GRUCell, length: number): Tensor {
  let state = tensor(fill([2, 3], length), [2, 3]);
  let input = state;
  for (let step = 0; step < length; step += 1) {
    state = cell.forward(input, state);
    input = (step * length) % 3 === 0 ? state.detach() : tensor(fill([2, 3], step), [2, 3]);
  }
  return F.crossEntropy(state, tensor(BigInt64Array.of(2n, 0n), [2]));
}

/** Decisions of a small convolutional network about one image after another. */
function images(model: nn.Module & { forward(x: Tensor): Tensor }, length: number): Tensor {
  const each = Array.from({ length }, (_, index) =>
    F.crossEntropy(
      model.forward(tensor(fill([1, 1, 6, 6], index), [1, 1, 6, 6])),
      tensor(BigInt64Array.of(BigInt(index % 3)), [1]),
    ),
  );
  return stack(each).sum();
}

/** Sequences of different lengths. */
function ragged(layer: nn.Linear, seed: number): Tensor {
  const rows = Array.from({ length: 10 }, (_, index) => 1 + ((seed * (index + 3) * 7) % 11));
  const parts = rows.map((count) => layer.forward(tensor(fill([count, 5], count), [count, 5])));
  return cat(parts, 0).pow(2).mean();
}

const cases = {
  'episodes of any length': () => {
    const policy = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
    return { model: policy, lossAt: (run: number) => episode(policy, 3 + ((run * 7) % 23)) };
  },
  'a cell that reads its own output at some steps': () => {
    const cell = new nn.GRUCell(3, 3);
    return { model: cell, lossAt: (run: number) => sampled(cell, 2 + ((run * 5) % 17)) };
  },
  'images one after another': () => {
    const [convolution, linear] = [new nn.Conv2d(1, 2, 3), new nn.Linear(8, 3)];
    const model = new nn.Sequential(
      convolution,
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Flatten(),
      linear,
    );
    return { model, lossAt: (run: number) => images(model, 2 + ((run * 5) % 11)) };
  },
  'lists of sequences of different lengths': () => {
    const layer = new nn.Linear(5, 3);
    return { model: layer, lossAt: (run: number) => ragged(layer, run) };
  },
};

describe.each(Object.entries(cases))('%s', (_, make) => {
  const runs = 16;

  test('have the bits of compiled programs, and few programs', async () => {
    manualSeed(1);
    const { model, lossAt } = make();
    const results = async (whole: boolean) => {
      const each: Float32Array[] = [];
      for (let run = 0; run < runs; run += 1) {
        if (whole) programCache.clear();
        model.zeroGrad();
        const loss = lossAt(run);
        await loss.backward();
        each.push(Float32Array.of(await loss.item()), ...model.parameters().map(({ grad }) => grad!.slice()));
      }
      return each;
    };
    const compiled = await results(true);
    programCache.clear();
    const run = vi.spyOn(onnxruntimeExecutor, 'runChain');
    const inSegments = await results(false);
    expect(run.mock.calls.length).toBeGreaterThan(runs / 4);
    for (const [index, expected] of compiled.entries()) {
      expect(inSegments[index], `result ${index}`).toEqual(expected);
    }
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    expect(await results(false)).toEqual(inSegments);
    // Every part is known by now.
    expect(compile.mock.calls.filter(([{ purpose }]) => purpose === 'segment')).toEqual([]);
  });
});

test('a part of a graph is the same segment wherever it is, and however often', () => {
  const signatures = new Signatures();
  const policy = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
  const keysOf = (length: number) => {
    let sum = F.logSoftmax(policy.forward(tensor(fill([1, 4], 0), [1, 4])), 1).sum();
    for (let step = 1; step < length; step += 1) {
      sum = sum.add(F.logSoftmax(policy.forward(tensor(fill([1, 4], step), [1, 4])), 1).sum());
    }
    const order = topologicalOrder([sum.value]);
    return cut(order, new ValueNumbers(order), [sum.value], signatures)!.map(({ key }) => key);
  };
  const keys = keysOf(40);
  for (const length of [10, 23, 57]) {
    for (const key of keysOf(length)) expect(keys.some((known) => known.equals(key))).toBe(true);
  }
});

test('a graph that returns is compiled, and one that stays the same is never cut', async () => {
  const parameter = new Parameter(Float32Array.of(1, 2), [2]);
  const chain = (length: number) => {
    let value = parameter.mul(1);
    for (let step = 0; step < length; step += 1) value = value.mul(0.5).add(parameter).sin();
    return value.sum();
  };
  const run = vi.spyOn(onnxruntimeExecutor, 'runChain');
  for (let step = 0; step < 20; step += 1) await chain(30).backward();
  expect(run).not.toHaveBeenCalled();
  for (const length of [31, 32, 33, 34, 35]) await chain(length).backward();
  const cuts = run.mock.calls.length;
  expect(cuts).toBeGreaterThan(0);
  for (let step = 0; step < 4; step += 1) await chain(40).backward();
  const more = run.mock.calls.length;
  for (let step = 0; step < 4; step += 1) await chain(40).backward();
  expect(run.mock.calls.length).toBe(more);
});

test('a loss that returns is cut once, as long as its segments have programs', async () => {
  const policy = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
  const gradientsOfAll = async () => {
    const each: number[][] = [];
    for (let length = 5; length < 13; length += 1) {
      policy.zeroGrad();
      await episode(policy, length).backward();
      each.push(...policy.parameters().map(({ grad }) => [...grad!]));
    }
    return each;
  };
  await gradientsOfAll();
  const first = await gradientsOfAll();
  const run = vi.spyOn(onnxruntimeExecutor, 'runChain');
  const of = vi.spyOn(SegmentedGraph, 'of');
  expect(await gradientsOfAll()).toEqual(first);
  expect(run.mock.calls.length).toBeGreaterThan(2);
  expect(of).not.toHaveBeenCalled();
});

test('values that are read have the elements of compiled programs, read at once or later', async () => {
  const state = new Parameter(Float32Array.of(0.5, -1, 2), [3]);
  const chain = (length: number) => {
    let value = state.mul(1);
    for (let step = 0; step < length; step += 1) value = value.mul(0.9).add(state).tanh().mul(1.5);
    return value;
  };
  const run = vi.spyOn(onnxruntimeExecutor, 'runChain');
  const runSync = vi.spyOn(onnxruntimeExecutor, 'runChainSync');
  for (let length = 20; length < 32; length += 1) {
    const [later, now] = [await chain(length).array(), chain(length + 20).arraySync()];
    programCache.clear();
    expect(later).toEqual(await chain(length).array());
    programCache.clear();
    expect(now).toEqual(chain(length + 20).arraySync());
    programCache.clear();
    for (let other = 0; other < 6; other += 1) chain(20 + other).arraySync();
  }
  expect(run.mock.calls.length + runSync.mock.calls.length).toBeGreaterThan(12);
});

test('programs that are cleared while a graph compiles or runs are released after it', async () => {
  const policy = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
  const gradientsAt = async (length: number) => {
    policy.zeroGrad();
    await episode(policy, length).backward();
    return policy.parameters().map(({ grad }) => [...grad!]);
  };
  const expected = await gradientsAt(17);
  programCache.clear();
  for (let length = 5; length < 8; length += 1) await gradientsAt(length);
  const compile = onnxruntimeExecutor.compile.bind(onnxruntimeExecutor);
  const run = vi.spyOn(onnxruntimeExecutor, 'runChain');
  let cleared = 0;
  vi.spyOn(onnxruntimeExecutor, 'compile').mockImplementation(async (definition) => {
    const program = await compile(definition);
    if (definition.purpose === 'segment') {
      cleared += 1;
      programCache.clear();
    }
    return program;
  });
  expect(await gradientsAt(17)).toEqual(expected);
  expect(run).toHaveBeenCalled();
  expect(cleared).toBeGreaterThan(0);
});

test('a sink receives the buckets in their order, as from a compiled program', async () => {
  const model = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
  const ready: number[] = [];
  const parameters = [...model.parameters()];
  const sink = gradientSink({
    bucketIndexOf: (parameter) => (parameters.findIndex((one) => one === parameter) < 2 ? 1 : 0),
    bucketReady: (index) => {
      ready.push(index);
    },
  });
  for (const parameter of parameters) parameter.gradientSink = sink;
  const run = vi.spyOn(onnxruntimeExecutor, 'runChain');
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  for (let step = 0; step < 12; step += 1) {
    ready.length = 0;
    optimizer.zeroGrad();
    await episode(model, 5 + step).backward();
    await optimizer.step();
    expect(ready).toEqual([0, 1]);
  }
  expect(run).toHaveBeenCalled();
});

test('the first cut names what changes', () => {
  const structures = new ChangingStructures('a loss');
  for (let length = 20; length < 28; length += 1) {
    let value = tensor(Float32Array.of(1, 2), [2]).mul(1);
    for (let step = 0; step < length; step += 1) value = value.mul(0.5).sin().add(1);
    const structure = structureOf([value.value]);
    structures.segmentsOf({
      structure,
      isCompiled: false,
      summary: () => summarizeProgram([value.value], structure.leaves),
      cut: () => SegmentedGraph.of(onnxruntimeExecutor, structure.leaves, [value.value]),
    });
  }
  expect(stderr).toMatch(
    /^ringrun: a loss is another graph from run to run: 67 operators, from .*; then 70 operators, from /,
  );
  expect(stderr.match(/printed once/g)).toHaveLength(1);
});
