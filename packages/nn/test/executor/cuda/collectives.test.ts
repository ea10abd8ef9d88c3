import { beforeEach, expect, test } from 'vitest';
import { fakeComputeLibraries } from '../../../../../native/test/fake-gpu/libraries.ts';
import { GraphProgram } from '../../../src/compiler/graph-program.ts';
import { onnxruntimeExecutor } from '../../../src/executor/cpu/onnxruntime.ts';
import { cudaExecutor } from '../../../src/executor/cuda/cuda.ts';
import type { Executor, GraphCall } from '../../../src/executor/executor.ts';
import type { CollectiveGroup } from '../../../src/graph/attributes.ts';
import type { Value } from '../../../src/graph/node.ts';
import { structureOf } from '../../../src/graph/structure.ts';
import { allGather, allReduce, combineStatistics } from '../../../src/ops/collective.ts';
import { add, exp, mul, neg } from '../../../src/ops/elementwise.ts';
import { input } from '../../../src/ops/source.ts';
import { numbers } from '../../support/cuda.ts';
import '../../support/one-thread.ts';

Object.assign(process.env, fakeComputeLibraries());

/** First elements of what collectives of `group` sent, in the order of the calls. */
const sent: number[] = [];
beforeEach(() => {
  sent.length = 0;
});

/** This rank is the second of two; the first sends twice the numbers of this one. */
const group: CollectiveGroup = {
  rank: 1,
  size: 2,
  allReduce: async (array) => {
    await new Promise(setImmediate);
    sent.push((array as Float32Array)[0]);
    (array as Float32Array).set((array as Float32Array).map((number) => 3 * number));
  },
  allGather: async (output, own) => {
    await new Promise(setImmediate);
    const array = own as Float32Array;
    sent.push(array[0]);
    (output as Float32Array).set([...array.map((number) => 2 * number), ...array]);
  },
};

async function resultsOn(
  executor: Executor,
  outputs: readonly Value[],
  calls: readonly GraphCall[] = [],
  parts = [] as number[][],
) {
  const { leaves, groups } = structureOf(outputs);
  const program = await GraphProgram.compile(executor, 'test', { leaves, groups }, outputs, { parts });
  const buffers = outputs.map((output) => executor.allocate(output));
  const inputs = leaves.map(({ source }) => executor.upload(source.data));
  await program.run({ inputs, outputs: buffers, groups, starts: calls });
  return Promise.all(buffers.map(async (buffer) => [...(await executor.download(buffer))].map(Number)));
}

const gpu = () => cudaExecutor(0) as Executor;
const leaf = (seed: number) => input('float32', [2, 3], { data: numbers([2, 3], seed) });

test('collectives of a graph have the results of the CPU, in the order of the calls', async () => {
  const [x, y] = [leaf(1), leaf(2)];
  const first = allReduce(exp(x), group);
  const second = allReduce(neg(y), group);
  const gathered = allGather(mul(x, y), group);
  const { mean, variance, total } = combineStatistics({ mean: x, variance: exp(y) }, 5, group);
  for (const outputs of [
    [add(second, first), gathered, mean, variance, total],
    [total, variance, add(mul(first, x), second), gathered],
    [exp(gathered), mul(second, first)],
  ]) {
    sent.length = 0;
    const onCpu = await resultsOn(onnxruntimeExecutor, outputs);
    const ofCpu = sent.splice(0);
    const onGpu = await resultsOn(gpu(), outputs);
    expect(sent.map((number) => expect.closeTo(number, 6) as number)).toEqual(ofCpu);
    for (const [i, elements] of onCpu.entries()) {
      expect(onGpu[i]).toEqual(elements.map((element) => expect.closeTo(element, 5) as number));
    }
  }
});

test('statistics of fewer than 2 values are an error that names the values of each rank', async () => {
  const alone: CollectiveGroup = {
    ...group,
    allGather: (output, own) => {
      (output as Float32Array).fill(0).set(own as Float32Array, (own as Float32Array).length);
      return Promise.resolve();
    },
  };
  const { mean } = combineStatistics({ mean: leaf(1), variance: leaf(2) }, 1, alone);
  await expect(resultsOn(gpu(), [mean])).rejects.toMatchObject({
    code: 'ERR_SHAPE',
    message: expect.stringContaining('got 0 of rank 0, 1 of rank 1.') as string,
  });
});

test('the error of a collective ends the run as it is', async () => {
  const failing = { ...group, allReduce: () => Promise.reject(new RangeError('of the group')) };
  const failure = resultsOn(gpu(), [allReduce(leaf(1), failing)]);
  await expect(failure).rejects.toThrow(new RangeError('of the group'));
});

test('parts are complete when their calls begin, which follow all collectives and are in order', async () => {
  const x = leaf(1);
  // The second part reads the first one, and the third is an output of the first.
  const first = exp(x);
  const outputs = [neg(first), first, add(first, x), first, allReduce(x, group)];
  const made: [part: number, collectives: number][] = [];
  const calls = [0, 1, 2].map((part) => ({ notify: () => void made.push([part, sent.length]) }));
  const results = await resultsOn(gpu(), outputs, calls, [[1], [2], [3]]);
  expect(made).toEqual([0, 1, 2].map((part) => [part, 1]));
  expect(results[3]).toEqual(results[1]);
  const onCpu = await resultsOn(onnxruntimeExecutor, outputs.slice(0, 3));
  for (const [i, elements] of onCpu.entries()) {
    expect(results[i]).toEqual(elements.map((element) => expect.closeTo(element, 6) as number));
  }
});
