import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { padTo, type Batched, type Padded } from '../../../runtime/dist/data/index.js';
import type { Program } from '../../src/executor/executor.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { F, nn, optim, programCache, tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let compile: MockInstance<typeof onnxruntimeExecutor.compile>;
beforeEach(() => {
  compile = vi.spyOn(onnxruntimeExecutor, 'compile');
});
afterEach(() => {
  compile.mockRestore();
});

describe('a training loop', () => {
  async function step(model: nn.Linear, optimizer: optim.SGD, batch: number, seed: number): Promise<void> {
    const loss = F.linear(tensor(fill([batch, 5], seed), [batch, 5]), model.weight, model.bias).mean();
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  }

  test('compiles only its first step, for every learning rate', async () => {
    const model = new nn.Linear(5, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.5 });
    await step(model, optimizer, 4, 1);
    expect(compile).toHaveBeenCalled();
    compile.mockClear();
    for (let seed = 2; seed < 5; seed += 1) {
      optimizer.paramGroups[0].lr /= 2;
      await step(model, optimizer, 4, seed);
    }
    expect(compile).not.toHaveBeenCalled();
  });

  test('compiles one more program for a last batch of another size', async () => {
    const model = new nn.Linear(5, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    await step(model, optimizer, 6, 1);
    compile.mockClear();
    await step(model, optimizer, 3, 2);
    expect(compile).toHaveBeenCalledTimes(1);
    await step(model, optimizer, 6, 3);
    await step(model, optimizer, 3, 4);
    expect(compile).toHaveBeenCalledTimes(1);
  });
});

test('equal graphs over different arrays share one program, and each reads its own', async () => {
  const [a, b] = [tensor(Float32Array.of(1, 2, 3)), tensor(Float32Array.of(4, 5, 6))];
  expect([...(await a.mul(7).array())]).toEqual([7, 14, 21]);
  expect([...(await b.mul(7).array())]).toEqual([28, 35, 42]);
  expect(compile).toHaveBeenCalledTimes(1);
});

describe('a number', () => {
  test('may change between steps without recompilation', async () => {
    const model = new nn.Linear(3, 1);
    const x = Float32Array.of(1, 2, 3);
    const betas = [0.3, 1, 0, -2, NaN];
    for (const beta of betas) {
      model.zeroGrad();
      const loss = model
        .forward(tensor(x, [1, 3]))
        .sum()
        .mul(beta);
      await loss.backward();
      expect([...model.weight.grad!]).toEqual(
        [...x].map((element) => Math.fround(element * Math.fround(beta))),
      );
    }
    expect(compile).toHaveBeenCalledTimes(1);
  });

  test('of every kind is passed exactly', async () => {
    const x = tensor(Float32Array.of(1, -2));
    const quotients = async (divisor: number) => [...(await x.div(divisor).array())];
    expect(await quotients(0)).toEqual([Infinity, -Infinity]);
    expect(await quotients(-0)).toEqual([-Infinity, Infinity]);
    expect(await quotients(Infinity)).toEqual([0, -0]);
    expect(await quotients(-Infinity)).toEqual([-0, 0]);
    expect(await quotients(NaN)).toEqual([NaN, NaN]);
    expect(compile).toHaveBeenCalledTimes(1);
    expect([...(await x.div(0).add(x.div(-0)).array())]).toEqual([NaN, NaN]);
  });

  test('may be an annealed label smoothing', async () => {
    const logits = tensor(fill([2, 3], 1), [2, 3]);
    for (const labelSmoothing of [0.3, 0.2, 0.1]) {
      await F.crossEntropy(logits, tensor(BigInt64Array.of(0n, 2n)), { labelSmoothing }).array();
    }
    expect(compile).toHaveBeenCalledTimes(1);
  });
});

test('labels, even ignored ones, do not change a graph', async () => {
  const layer = new nn.Linear(4, 3);
  const x = tensor(fill([3, 4], 1), [3, 4]);
  const losses: number[] = [];
  for (const labels of [
    [0n, 2n, 1n],
    [0n, -100n, 1n],
    [-100n, -100n, 1n],
  ]) {
    const loss = F.crossEntropy(layer.forward(x), tensor(BigInt64Array.from(labels)));
    await loss.backward();
    losses.push(await loss.item());
  }
  expect(compile).toHaveBeenCalledTimes(1);
  const each = F.crossEntropy(layer.forward(x), tensor(BigInt64Array.of(0n, 2n, 1n)), { reduction: 'none' });
  const [a, b, c] = [...(await each.array())].map(Number);
  for (const [place, mean] of [(a + b + c) / 3, (a + c) / 2, c].entries()) {
    expect(losses[place]).toBeCloseTo(mean, 5);
  }
});

describe('sequences of 300 lengths', () => {
  const classes = 6;
  interface Sequence {
    readonly tokens: BigInt64Array;
    readonly label: bigint;
  }
  /** `length` tokens above 0, the padding token. */
  const sequence = (length: number): Sequence => ({
    tokens: BigInt64Array.from({ length }, (_, index) => BigInt(1 + ((index * index + length) % 9))),
    label: BigInt(length % classes),
  });
  const table = new nn.Embedding(10, 4, { paddingIdx: 0 });
  const classifier = new nn.Linear(4, classes);
  const parameters = [...table.parameters(), ...classifier.parameters()];

  /** The classes of the means of the tokens' rows, and their gradients. */
  async function backward({
    tokens,
    label,
  }: {
    tokens: Padded<BigInt64Array>;
    label: Batched<BigInt64Array>;
  }) {
    const mask = tensor(tokens.mask.data, [...tokens.shape, 1]);
    const rows = table.forward(tensor(tokens.data, tokens.shape)).mul(mask);
    const loss = F.crossEntropy(classifier.forward(rows.sum([1]).div(mask.sum([1]))), tensor(label.data));
    table.zeroGrad();
    classifier.zeroGrad();
    await loss.backward();
    return [await loss.item(), ...parameters.flatMap(({ grad }) => [...grad!])];
  }

  test('compile one program for each length of padTo, with the results of unpadded sequences', async () => {
    const padded = padTo([20, 100, 300], { tokens: 0 });
    for (let length = 1; length <= 300; length += 1) await backward(padded([sequence(length)]));
    expect(compile).toHaveBeenCalledTimes(3);
    for (const length of [1, 20, 21, 299]) {
      const exact = padTo([length], { tokens: 0 });
      const expected = await backward(exact([sequence(length)]));
      for (const [index, value] of (await backward(padded([sequence(length)]))).entries())
        expect(value).toBeCloseTo(expected[index], 5);
    }
  });

  test('without padTo compile one program per length, and programCache keeps the latest', async () => {
    const size = programCache.maxSize;
    programCache.clear();
    programCache.maxSize = 4;
    try {
      for (let length = 1; length <= 20; length += 1)
        await backward(padTo([length], { tokens: 0 })([sequence(length)]));
      expect(compile).toHaveBeenCalledTimes(20);
      expect(programCache.size).toBe(4);
    } finally {
      programCache.maxSize = size;
    }
  });
});

describe('programCache', () => {
  const defaultSize = programCache.maxSize;
  afterEach(() => {
    programCache.maxSize = defaultSize;
  });
  const doubled = async (length: number) => [
    ...(await tensor(new Float32Array(length).fill(1.5)).mul(2).array()),
  ];

  test('keeps the most recently used programs', async () => {
    programCache.clear();
    expect(programCache.size).toBe(0);
    programCache.maxSize = 2;
    for (const length of [1, 2, 1, 3, 1, 2])
      expect(await doubled(length)).toEqual(Array<number>(length).fill(3));
    // 2 was released when 3 was added.
    expect(compile).toHaveBeenCalledTimes(4);
    expect(programCache.size).toBe(2);
    programCache.maxSize = 1;
    expect(programCache.size).toBe(1);
  });

  test('does not release a running program', async () => {
    programCache.maxSize = 1;
    const results = await Promise.all([4, 5, 6, 4].map(doubled));
    expect(results).toEqual([4, 5, 6, 4].map((length) => Array<number>(length).fill(3)));
  });

  test('forgets a failed compilation', async () => {
    compile.mockRejectedValueOnce(new Error('no memory'));
    await expect(doubled(7)).rejects.toThrow('no memory');
    expect(await doubled(7)).toEqual(Array<number>(7).fill(3));

    const layer = new nn.Linear(2, 1);
    const optimizer = new optim.RMSprop(layer.parameters());
    await layer
      .forward(tensor(Float32Array.of(1, 2)))
      .sum()
      .backward();
    compile.mockRejectedValueOnce(new Error('no memory'));
    await expect(optimizer.step()).rejects.toThrow('no memory');
    await optimizer.step();
  });

  test('frees the memory of released programs', async () => {
    programCache.maxSize = 2;
    // Small arrays, whose large product only the program holds.
    const row = tensor(new Float32Array(1024).fill(1), [1, 1024]);
    const run = (size: number) =>
      tensor(new Float32Array(size), [size, 1]).mul(row).exp().mul(2).log().sum().item();
    for (let more = 0; more < 8; more += 1) await run(1024 + more);
    const before = process.memoryUsage.rss();
    // Each holds some 9 MiB: 570 MiB together if none is released.
    for (let more = 8; more < 72; more += 1) await run(1024 + more);
    expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 2 ** 20);
  });

  test('retains nothing of released programs: after 100 shapes, only the last 16 exist', async () => {
    // The mock would retain its results.
    compile.mockRestore();
    programCache.clear();
    const compiling = onnxruntimeExecutor.compile.bind(onnxruntimeExecutor);
    const programs: WeakRef<Program>[] = [];
    let sessions = 0;
    const counted = { ...onnxruntimeExecutor };
    onnxruntimeExecutor.compile = async (definition) => {
      const program = await compiling(definition);
      const release = program.release.bind(program);
      sessions += 1;
      program.release = () => release().finally(() => (sessions -= 1));
      programs.push(new WeakRef(program));
      return program;
    };
    try {
      for (let length = 1; length <= 100; length += 1) await doubled(length);
      expect(programs).toHaveLength(100);
      await vi.waitFor(() => {
        collectGarbage();
        expect([sessions, programs.filter((one) => one.deref()).length]).toEqual([16, 16]);
      });
    } finally {
      Object.assign(onnxruntimeExecutor, counted);
    }
  });

  test('rejects a size that is not a number of programs', () => {
    for (const size of [0, -1, 1.5, NaN]) {
      expect(() => (programCache.maxSize = size)).toThrow(
        `programCache.maxSize: expected an integer of at least 1, got ${size}.`,
      );
    }
    expect(programCache.maxSize).toBe(defaultSize);
  });
});

test('warns once, naming the input whose shapes fill the cache and the option', async () => {
  vi.resetModules();
  const { warnAboutRecompilation } = await import('../../src/compiler/recompilation-warning.ts');
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const shapeOf = (length: number, operators = 9) => ({
    operators,
    inputs: [
      { dtype: 'float32', shape: [8, 3] },
      { dtype: 'int64', shape: [8, length] },
    ] as const,
  });
  const tell = (...kept: ReturnType<typeof shapeOf>[]) => {
    warnAboutRecompilation(kept.at(-1)!, kept, 2);
  };
  try {
    // Other graphs, or the same graph with other parameters, cause no warning.
    tell(shapeOf(1, 5), shapeOf(1, 7), shapeOf(1));
    tell(shapeOf(1), shapeOf(1), shapeOf(1));
    expect(write).not.toHaveBeenCalled();
    tell(shapeOf(1), shapeOf(2), shapeOf(3));
    tell(shapeOf(2), shapeOf(3), shapeOf(4));
    expect(write.mock.calls.map(([line]) => line)).toEqual([
      expect.stringMatching(
        /^ringrun: .* 3 input shapes, .* int64\[8,2\] and int64\[8,3\], .*programCache\.maxSize is 2.*\n$/,
      ),
    ]);
  } finally {
    write.mockRestore();
  }
});
