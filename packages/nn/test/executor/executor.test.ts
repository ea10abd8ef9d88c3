import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { builtFile } from '../../../../test/support/built-script.ts';
import { ways } from '../../../../test/support/extent.ts';
import { isSanitized } from '../../../../test/support/sanitized.ts';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import { freeBuffers } from '../../src/executor/free-buffers.ts';
import type { Program, ProgramDefinition } from '../../src/executor/executor.ts';
import { onnxModelOf } from '../../src/executor/cpu/lower.ts';
import { compileModel, onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { add, mul } from '../../src/ops/elementwise.ts';
import { gather } from '../../src/ops/table-rows.ts';
import { reduceSum } from '../../src/ops/reduction.ts';
import { expand } from '../../src/ops/shape.ts';
import { input } from '../../src/ops/source.ts';
import { definitionFor, definitionOf, resultOf, right } from '../support/executor-programs.ts';
import '../support/one-thread.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Σ (e + e)·e, where e repeats x: each intermediate value has `count` elements. */
function sumOfRepeated(count: number): ProgramDefinition {
  const x = input('float32', [1], { data: new Float32Array(1) });
  const repeated = expand(x, [count]);
  return definitionFor(reduceSum(mul(add(repeated, repeated), repeated)));
}

const residentMegabytes = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) / 1024;

test.each([0, 1, 2])(
  'memory that its owner frees during a run stays valid, after %d runs with it',
  async (before) => {
    const size = 512;
    const program = await onnxruntimeExecutor.compile(definitionOf(size));
    const arrays = [new Float32Array(size * size).fill(1), new Float32Array(size * size)];
    const run = () => program.run(allOnHost(arrays.slice(0, 1)), allOnHost(arrays.slice(1)));
    for (let i = 0; i < before; i += 1) await run();
    const ended = run();
    freeBuffers(arrays.map(({ buffer }) => buffer));
    // They would be allocated in the freed memory.
    const others = Array.from({ length: 8 }, () => new Float32Array(size * size).fill(7));
    await ended;
    expect(arrays.map(({ length }) => length)).toEqual([0, 0]);
    expect(others.every((other) => other.every((element) => element === 7))).toBe(true);
  },
);

test('runs that overlap read and write their own arrays', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(2));
  const runs = [1, 2, 3, 1].map((factor) => ({
    factor,
    x: Float32Array.of(1, 2, 3, 4).map((element) => factor * element),
    result: new Float32Array(4),
  }));
  await Promise.all(runs.map(({ x, result }) => program.run(allOnHost([x]), allOnHost([result]))));
  const products = [7, 10, 15, 22];
  for (const { factor, x, result } of runs) {
    expect(result).toEqual(Float32Array.from(products, (product, i) => factor * factor * product + x[i]));
  }
});

test('consecutive runs use their own arrays, and the next run those of the first', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(2));
  const runOf = (factor: number) => ({
    x: Float32Array.of(1, 2, 3, 4).map((element) => factor * element),
    result: new Float32Array(4),
  });
  const [first, ...later] = [1, 2, 3].map(runOf);
  const products = [7, 10, 15, 22];
  const buffersOf = ({ x, result }: ReturnType<typeof runOf>) => ({
    inputs: allOnHost([x]),
    outputs: allOnHost([result]),
  });
  for (let round = 0; round < 3; round += 1) {
    for (const { result } of [first, ...later]) result.fill(0);
    const { inputs, outputs } = buffersOf(first);
    const runs = later.map((one) => () => buffersOf(one));
    await program.run(inputs, outputs, [], runs);
    for (const [index, { x, result }] of [first, ...later].entries()) {
      const factor = index + 1;
      expect(result).toEqual(Float32Array.from(products, (product, i) => factor * factor * product + x[i]));
    }
    first.result.fill(0);
    await program.run(inputs, outputs);
    expect(first.result).toEqual(right);
  }
});

test('memory that its owner frees during consecutive runs stays valid', async () => {
  const size = 512;
  const program = await onnxruntimeExecutor.compile(definitionOf(size));
  const arrays = Array.from({ length: 6 }, (_, i) => new Float32Array(size * size).fill(i % 2 === 0 ? 1 : 0));
  const [first, ...later] = [0, 2, 4].map((at) => ({
    inputs: allOnHost([arrays[at]]),
    outputs: allOnHost([arrays[at + 1]]),
  }));
  const runs = later.map((one) => () => one);
  const ended = program.run(first.inputs, first.outputs, [], runs);
  freeBuffers(arrays.map(({ buffer }) => buffer));
  // They would be allocated in the freed memory.
  const others = Array.from({ length: 8 }, () => new Float32Array(size * size).fill(7));
  await ended;
  expect(others.every((other) => other.every((element) => element === 7))).toBe(true);
});

test('rejects a wrong array of a later run before the first, and later runs succeed', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(2));
  const result = new Float32Array(4);
  const [inputs, outputs] = [allOnHost([Float32Array.of(1, 2, 3, 4)]), allOnHost([result])];
  const withLater = (x: Float32Array, y: Float32Array) =>
    program.run(inputs, outputs, [], [() => ({ inputs: allOnHost([x]), outputs: allOnHost([y]) })]);
  await expect(withLater(new Float32Array(0), result)).rejects.toThrow(
    'expected 4 elements for float32[2,2], got 0',
  );
  await expect(withLater(new Float32Array(4), new Float32Array(3))).rejects.toThrow(
    'output_0: expected a typed array of 16 bytes, got 12 bytes',
  );
  expect([...result]).toEqual([0, 0, 0, 0]);
  expect(await resultOf(program)).toEqual(right);
});

test('a run fails if its array was transferred since the last, and the next run succeeds', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(2));
  const arrays = [Float32Array.of(1, 2, 3, 4), new Float32Array(4)];
  const run = () => program.run(allOnHost(arrays.slice(0, 1)), allOnHost(arrays.slice(1)));
  for (let i = 0; i < 3; i += 1) await run();
  freeBuffers([arrays[0].buffer]);
  await expect(run()).rejects.toThrow('expected 4 elements for float32[2,2], got 0');
  arrays[0] = Float32Array.of(1, 2, 3, 4);
  freeBuffers([arrays[1].buffer]);
  await expect(run()).rejects.toThrow('output_0: expected a typed array of 16 bytes, got 0 bytes');
  expect(await resultOf(program)).toEqual(right);
});

test.each(['compile', 'compileSync'] as const)('a program of %s retains no graph', async (compile) => {
  const { program, graph } = await (async () => {
    const definition = definitionOf(2);
    const [{ value, source }] = definition.leaves;
    const graph = [definition, definition.outputs[0].node, value, source, source.data];
    const program = await onnxruntimeExecutor[compile](definition);
    return { program, graph: graph.map((part) => new WeakRef<object>(part)) };
  })();
  for (let collections = 0; collections < 4; collections += 1) {
    await nextTurn();
    collectGarbage();
  }
  expect(graph.map((part) => part.deref())).toEqual(graph.map(() => undefined));
  expect(await resultOf(program)).toEqual(right);
});

test('an idle program retains no arrays', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(2));
  const last = await (async () => {
    const arrays = [Float32Array.of(1, 2, 3, 4), new Float32Array(4)];
    for (let i = 0; i < 3; i += 1) await program.run(allOnHost([arrays[0]]), allOnHost([arrays[1]]));
    return arrays.map((array) => new WeakRef(array));
  })();
  // Node-API releases what an object refers to in a turn of the event loop after the object's collection.
  for (let collections = 0; collections < 4; collections += 1) {
    await nextTurn();
    collectGarbage();
  }
  expect(last.map((array) => array.deref())).toEqual([undefined, undefined]);
  expect(await resultOf(program)).toEqual(right);
});

test('a model that the library rejects is an error, and later models run', async () => {
  const whole = onnxModelOf(definitionOf(2));
  const compiled = (model: Uint8Array) => compileModel({ ...whole, model });
  await expect(compiled(whole.model.subarray(0, 40))).rejects.toMatchObject({
    code: 'ERR_EXECUTOR',
    message: expect.stringMatching(/could not compile a graph: .*protobuf/i) as string,
  });
  expect(await resultOf(await compiled(whole.model))).toEqual(right);
});

test('a run that fails is an error, and later runs succeed', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(2));
  await expect(
    program.run(allOnHost([new Float32Array(4)]), allOnHost([new Float32Array(3)])),
  ).rejects.toThrow('output_0: expected a typed array of 16 bytes, got 12 bytes');
  await expect(program.run(allOnHost([new Float32Array(4)]), allOnHost([]))).rejects.toThrow(
    'expected 1 arrays, got 0',
  );
  expect(await resultOf(program)).toEqual(right);
  await program.release();
  await expect(resultOf(program)).rejects.toThrow('the session was released');
});

test.skipIf(isSanitized)(
  'a run that exceeds the machine’s memory is an error, and later runs succeed',
  async () => {
    const program = await onnxruntimeExecutor.compile(sumOfRepeated(2 ** 46));
    await expect(
      program.run(allOnHost([Float32Array.of(1)]), allOnHost([new Float32Array(1)])),
    ).rejects.toThrow(/^onnxruntime could not run a graph: .*alloc/i);
    const smaller = await onnxruntimeExecutor.compile(sumOfRepeated(4));
    const output = new Float32Array(1);
    await smaller.run(allOnHost([Float32Array.of(3)]), allOnHost([output]));
    expect(output[0]).toBe(72);
  },
);

test('an operator that fails is an error with its reason, and later runs succeed', async () => {
  const table = input('float32', [3, 1], { data: new Float32Array(3) });
  const rows = input('int64', [2], { data: new BigInt64Array(2) });
  const program = await onnxruntimeExecutor.compile(definitionFor(gather(table, rows)));
  const run = async (...positions: bigint[]) => {
    const output = new Float32Array(2);
    await program.run(
      allOnHost([Float32Array.of(5, 6, 7), BigInt64Array.from(positions)]),
      allOnHost([output]),
    );
    return [...output];
  };
  await expect(run(0n, 3n)).rejects.toThrow(/^onnxruntime could not run a graph: .*out of .*bounds/);
  expect(await run(2n, 0n)).toEqual([7, 5]);
});

test.skipIf(isSanitized)(
  'programs share memory for intermediate values, freed with the last program',
  async () => {
    const count = 20 * 2 ** 20;
    const before = residentMegabytes();
    const programs: Program[] = [];
    for (let extra = 0; extra < 4; extra += 1) {
      const program = await onnxruntimeExecutor.compile(sumOfRepeated(count + extra));
      programs.push(program);
      await program.run(allOnHost([Float32Array.of(1)]), allOnHost([new Float32Array(1)]));
    }
    // Two or three values of 80 MB live at a time.
    const held = residentMegabytes() - before;
    expect(held).toBeGreaterThan(100);
    expect(held).toBeLessThan(400);
    for (const program of programs) await program.release();
    expect(residentMegabytes() - before).toBeLessThan(held / 2);
  },
);

test('a run accepts new arrays, and then the first ones again', async () => {
  const program = await onnxruntimeExecutor.compile(definitionOf(1));
  const [x, y, output] = [Float32Array.of(3), Float32Array.of(5), new Float32Array(1)];
  const results: number[] = [];
  for (const from of [x, y, y, x]) {
    await program.run(allOnHost([from]), allOnHost([output]));
    results.push(output[0]);
  }
  expect(results).toEqual([12, 30, 30, 12]);
});

test('the event loop is free during a run', async () => {
  const size = 2048;
  const program = await onnxruntimeExecutor.compile(definitionOf(size));
  let turns = 0;
  let isRunning = true;
  const turn = () => {
    turns += 1;
    if (isRunning) setImmediate(turn);
  };
  const run = program.run(
    allOnHost([new Float32Array(size * size)]),
    allOnHost([new Float32Array(size * size)]),
  );
  turn();
  await run;
  isRunning = false;
  // A run on this thread would allow at most one turn before it and one after it.
  expect(turns).toBeGreaterThan(100);
});

test.each(
  ways<readonly [how: string, what: string, exitCode: number, printed: string]>(
    [
      ['exit', 'run', 7, ''],
      ['terminate', 'steps', 0, 'terminated\n'],
      ['terminate', 'synchronous run', 0, 'terminated\n'],
    ],
    [
      ['error', 'run', 1, ''],
      ['terminate', 'run', 0, 'terminated\n'],
      ['exit', 'steps', 7, ''],
    ],
  ),
)('a process ends by %s during a %s, without a crash', (how, what, exitCode, printed) => {
  const script = fileURLToPath(builtFile(new URL('../fixtures/ends-during-a-run.ts', import.meta.url)));
  const { status, signal, stdout } = spawnSync(process.execPath, [script, how, what], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ status, signal, stdout }).toEqual({ status: exitCode, signal: null, stdout: printed });
});
