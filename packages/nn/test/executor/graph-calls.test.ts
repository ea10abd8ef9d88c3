import { loadNative, nativeOp, nativeReduceOp, type NativePreparedOperation } from '@ringrun/native';
import { describe, expect, test } from 'vitest';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import { emitStarts } from '../../src/executor/cpu/emit.ts';
import { GraphProgram } from '../../src/compiler/graph-program.ts';
import type { GraphCall, Program } from '../../src/executor/executor.ts';
import { compileModel, onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import type { Value } from '../../src/graph/node.ts';
import type { ValueType } from '../../src/value-type.ts';
import type { CollectiveGroup } from '../../src/graph/attributes.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { tensor } from '../../src/index.ts';
import { GraphBuilder } from '../../src/onnx-format/graph-builder.ts';
import { allReduce } from '../../src/ops/collective.ts';
import { add, exp, mul, neg } from '../../src/ops/elementwise.ts';
import { input } from '../../src/ops/source.ts';
import '../support/one-thread.ts';

const four: ValueType = { dtype: 'float32', shape: [2, 2] };
const x = Float32Array.of(1, 2, 3, 4);
const doubled = Float32Array.of(2, 4, 6, 8);

/** Compiles a graph of `inputs` and `outputs`, each of four numbers. */
function compiled(inputs: number, outputs: number, build: (graph: GraphBuilder) => void): Promise<Program> {
  const graph = new GraphBuilder();
  for (let i = 0; i < inputs; i += 1) graph.input(`input_${i}`, 'float32', four.shape);
  for (let i = 0; i < outputs; i += 1) graph.output(`output_${i}`, 'float32', four.shape);
  build(graph);
  const types = (count: number) => Array.from({ length: count }, () => four);
  return compileModel({
    name: 'test',
    model: graph.encode(),
    inputs: types(inputs),
    outputs: types(outputs),
    isLong: false,
  });
}

const arrays = (count: number) => Array.from({ length: count }, () => new Float32Array(4));

/** y = −(call(x)) */
const negatedCall = () =>
  compiled(1, 1, (graph) => {
    graph.ownNode('RunCall', ['input_0'], ['token', 'received'], { call: 0, sends: 1, shapes: [2, 2, 2] });
    graph.node('Neg', ['received'], ['output_0']);
  });

/** A call that doubles its input, in a later turn of the event loop. */
function doubling(ended: () => void = () => undefined): GraphCall {
  const [sent, received] = arrays(2);
  return {
    sends: [sent],
    receives: [received],
    perform: async () => {
      await new Promise(setImmediate);
      received.set(sent.map((number) => 2 * number));
      ended();
    },
  };
}

describe('a call of JavaScript', () => {
  test('receives arrays of the running graph, which waits for its result', async () => {
    const program = await negatedCall();
    const [output] = arrays(1);
    const { waitedMs, ranMs } = await program.run(allOnHost([x]), allOnHost([output]), [doubling()]);
    expect(waitedMs).toBeGreaterThan(0);
    expect(ranMs).toBe(waitedMs);
    expect(output).toEqual(doubled.map((number) => -number));
  });

  test('that fails ends the run with its own error, and later runs succeed', async () => {
    const program = await negatedCall();
    const failure = new RangeError('of the call');
    const [output, sent, received] = arrays(3);
    const failing = { sends: [sent], receives: [received], perform: () => Promise.reject(failure) };
    await expect(program.run(allOnHost([x]), allOnHost([output]), [failing])).rejects.toBe(failure);
    await program.run(allOnHost([x]), allOnHost([output]), [doubling()]);
    expect(output[0]).toBe(-2);
  });

  test('that is not awaited runs beside the graph, and its error fails the run', async () => {
    const program = await compiled(1, 1, (graph) => {
      graph.node('Neg', ['input_0'], ['output_0']);
      graph.ownNode('StartCall', ['output_0'], ['token'], { call: 0, outputs: [0] });
    });
    const [output] = arrays(1);
    const seen: number[][] = [];
    await program.run(allOnHost([x]), allOnHost([output]), [{ notify: () => void seen.push([...output]) }]);
    expect(seen).toEqual([[-1, -2, -3, -4]]);
    const notify = () => {
      throw new RangeError('of the call');
    };
    await expect(program.run(allOnHost([x]), allOnHost([output]), [{ notify }])).rejects.toThrow(
      'of the call',
    );
  });

  test('with an array of another size, or without calls, is an error', async () => {
    const program = await negatedCall();
    const [output] = arrays(1);
    const wrong = {
      sends: [new Float32Array(3)],
      receives: [new Float32Array(4)],
      perform: () => Promise.resolve(),
    };
    await expect(program.run(allOnHost([x]), allOnHost([output]), [wrong])).rejects.toThrow(
      'expected an array of 16 bytes, got 12',
    );
    await expect(program.run(allOnHost([x]), allOnHost([output]))).rejects.toThrow(
      'the graph has calls, but the run has none',
    );
  });
});

test('a synchronous run waits for earlier runs, and is rejected while one calls JavaScript', async () => {
  const negated = await compiled(1, 1, (graph) => {
    graph.node('Neg', ['input_0'], ['output_0']);
  });
  const calling = await negatedCall();
  const [earlier, output] = arrays(2);
  const negative = x.map((number) => -number);
  const run = negated.run(allOnHost([x]), allOnHost([earlier]));
  negated.runSync(allOnHost([doubled]), allOnHost([output]));
  expect(earlier).toEqual(negative);
  expect(output).toEqual(doubled.map((number) => -number));
  await run;
  const withCall = calling.run(allOnHost([x]), allOnHost([earlier]), [doubling()]);
  expect(() => {
    negated.runSync(allOnHost([x]), allOnHost([output]));
  }).toThrow('a run that calls JavaScript is pending, which cannot end while this thread blocks');
  await withCall;
  expect(() => {
    calling.runSync(allOnHost([x]), allOnHost([output]));
  }).toThrow('a graph with calls cannot run synchronously');
  negated.runSync(allOnHost([x]), allOnHost([output]));
  expect(output).toEqual(negative);
});

test('a call starts as soon as its part is computed, before the next part is', async () => {
  // Two parts, each after a call that records when it is computed. onnxruntime fuses the second one into a node that is
  // newer than all others, which its default order would compute first.
  const program = await compiled(2, 2, (graph) => {
    for (const part of [1, 0]) {
      const attributes = { call: part, sends: 1, shapes: [2, 2, 2] };
      graph.ownNode('RunCall', [`input_${part}`], [`probe_${part}`, `received_${part}`], attributes);
    }
    graph.node('Neg', ['received_0'], ['output_0']);
    graph.node('Transpose', ['received_1'], ['transposed'], { perm: [1, 0] });
    graph.node('MatMul', ['transposed', 'input_1'], ['output_1']);
    const results = [0, 1].map((i) => ({ name: `output_${i}`, value: four as Value }));
    emitStarts(graph, [[0], [1]], results, { count: 2, token: undefined }).emitReaders();
  });
  const events: string[] = [];
  const record = (event: string) => () => void events.push(event);
  await program.run(allOnHost([x, x]), allOnHost(arrays(2)), [
    doubling(record('first computed')),
    doubling(record('second computed')),
    { notify: record('first started') },
    { notify: record('second started') },
  ]);
  expect(events).toEqual(['first computed', 'first started', 'second computed', 'second started']);
});

describe('collectives of a graph', () => {
  /** A group of two equal ranks, which records the first element of each all-reduce. */
  const recordingGroup = (seen: number[]): CollectiveGroup => ({
    rank: 0,
    size: 2,
    allReduce: async (array) => {
      await new Promise(setImmediate);
      seen.push((array as Float32Array)[0]);
      (array as Float32Array).set((array as Float32Array).map((number) => 2 * number));
    },
    allGather: () => Promise.reject(new Error('not called')),
  });

  test('run in call order, regardless of dependencies', async () => {
    const [first, second, third] = [1, 10, 100].map((factor) =>
      input('float32', [4], { data: x.map((number) => factor * number) }),
    );
    const seen: number[] = [];
    const group = recordingGroup(seen);
    const sums = [first, second, third].map((value) => allReduce(exp(neg(value)), group));
    for (const outputs of [sums, sums.toReversed(), [add(mul(sums[2], sums[0]), sums[1])]]) {
      const { leaves, groups } = structureOf(outputs);
      const program = await GraphProgram.compile(onnxruntimeExecutor, 'test', { leaves, groups }, outputs);
      const results = arrays(outputs.length);
      seen.length = 0;
      await program.run({
        inputs: allOnHost(leaves.map(({ source }) => source.data)),
        outputs: allOnHost(results),
        groups,
      });
      expect(seen).toEqual(
        [1, 10, 100]
          .map((factor) => Math.fround(Math.exp(-factor)))
          .map((n) => expect.closeTo(n, 6) as number),
      );
    }
  });

  test('precede the calls of all parts', async () => {
    const seen: number[] = [];
    const group = recordingGroup(seen);
    const leaf = input('float32', [4], { data: x });
    const outputs = [neg(leaf), allReduce(leaf, group)];
    const { leaves, groups } = structureOf(outputs);
    const program = await GraphProgram.compile(onnxruntimeExecutor, 'test', { leaves, groups }, outputs, {
      parts: [[0], [1]],
    });
    const started: number[] = [];
    const starts = [0, 1].map((part) => ({ notify: () => void started.push(part, seen.length) }));
    await program.run({ inputs: allOnHost([x]), outputs: allOnHost(arrays(2)), groups, starts });
    expect(started).toEqual([0, 1, 1, 1]);
  });
});

describe('an operation of a group', () => {
  const { ProcessGroup } = loadNative();
  const self = { host: 0, name: 'rank 0', socketName: '', address: '', port: 0, token: '' };
  async function oneRank(timeoutMs = 10_000) {
    const group = new ProcessGroup(0, 1);
    await group.connect([self], '', 10_000, 0);
    const memory = new Float32Array(group.allocateSync(1, 4, 10_000));
    const prepared = group.prepareAllReduce(memory, 1, nativeReduceOp.SUM, timeoutMs);
    return { group, memory, operation: { native: prepared, ended: () => group.ended(prepared) } };
  }

  /** output_0 = −x, averaged in place, output_1 = −output_0 */
  const averaged = () =>
    compiled(1, 2, (graph) => {
      graph.node('Neg', ['input_0'], ['output_0']);
      graph.ownNode('StartCall', ['output_0'], ['started'], { call: 0, outputs: [0] });
      graph.ownNode('AwaitCall', ['started', 'output_0'], ['averaged'], { call: 0, outputs: [0] });
      graph.node('Neg', ['averaged'], ['output_1']);
    });

  test('is started and awaited by the graph, again in each run', async () => {
    const { memory, operation, group } = await oneRank();
    const program = await averaged();
    const [result] = arrays(1);
    for (const factor of [1, 2]) {
      await program.run(allOnHost([x.map((number) => factor * number)]), allOnHost([memory, result]), [
        { operations: [operation] },
      ]);
      expect([...result]).toEqual([...x].map((number) => factor * number));
      await operation.ended();
    }
    await group.destroy(10_000);
  });

  test('of a destroyed group fails the run with the group’s error', async () => {
    const { memory, operation, group } = await oneRank();
    await group.destroy(10_000);
    const program = await averaged();
    const [own, result] = arrays(2);
    expect(memory).toHaveLength(0);
    const run = program.run(allOnHost([x]), allOnHost([own, result]), [{ operations: [operation] }]);
    await expect(run).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await tensor(x, [4]).neg().array()).toEqual(x.map((number) => -number));
  });

  test('with its own memory is a collective without JavaScript', async () => {
    const { group } = await oneRank();
    const program = await negatedCall();
    const [output] = arrays(1);
    for (const op of [nativeOp.allReduce, nativeOp.allGather]) {
      const { operation: native, input, output: received } = group.prepareWithMemory(op, 4, 10_000);
      expect(received.buffer === input.buffer).toBe(op === nativeOp.allReduce);
      const operation = { native, ended: () => group.ended(native) };
      const call = { operations: [operation], sends: [input], receives: [received] };
      for (const factor of [1, 2]) {
        const sent = x.map((number) => factor * number);
        const { waitedMs, ranMs } = await program.run(allOnHost([sent]), allOnHost([output]), [call]);
        expect(output).toEqual(sent.map((number) => -number));
        expect(ranMs).toBe(waitedMs);
      }
    }
    expect(() => group.prepareWithMemory(nativeOp.scatter, 4, 10_000)).toThrow('expected allReduce or');
    await group.destroy(10_000);
  });

  test('copies its input before it is reduced', async () => {
    const { memory, group } = await oneRank();
    const copy = new Float32Array(group.allocateSync(1, 4, 10_000));
    const native = group.prepareAllReduce(memory, 1, nativeReduceOp.SUM, 10_000, copy);
    const operation = { native, ended: () => group.ended(native) };
    const program = await averaged();
    for (const factor of [1, 2]) {
      copy.fill(NaN);
      await program.run(
        allOnHost([x.map((number) => factor * number)]),
        allOnHost([memory, new Float32Array(4)]),
        [{ operations: [operation] }],
      );
      expect([...copy]).toEqual([...x].map((number) => -factor * number));
    }
    await group.destroy(10_000);
  });

  test('needs memory from allocateSync, and the same amount for the copy', async () => {
    const { memory, group } = await oneRank();
    expect(() => group.prepareAllReduce(x, 1, nativeReduceOp.SUM, 1000)).toThrow(
      'expected memory of allocateSync',
    );
    expect(() => group.prepareAllReduce(memory, 1, nativeReduceOp.SUM, 1000, x)).toThrow(
      'expected memory of allocateSync',
    );
    expect(() => group.prepareAllReduce(memory, 1, nativeReduceOp.SUM, 1000, memory.subarray(1))).toThrow(
      'expected a copy of the same length',
    );
    await expect(async () => group.ended({} as NativePreparedOperation)).rejects.toThrow(
      'expected an operation of prepareAllReduce',
    );
    await group.destroy(10_000);
  });
});
