import { describe, expect, test, vi } from 'vitest';
import { onnxModelOf } from '../../../src/executor/cpu/lower.ts';
import { onnxruntimeExecutor } from '../../../src/executor/cpu/onnxruntime.ts';
import {
  F,
  manualSeed,
  nn,
  noGrad,
  Parameter,
  programCache,
  tensor,
  type Tensor,
} from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose, largest } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const { packPaddedSequence, packSequence, padPackedSequence, padSequence } = nn.utils.rnn;

const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

interface Sizes {
  readonly steps: number;
  readonly rows: number;
  readonly size: number;
}

const networks = {
  tanh: (size: number, options: nn.RecurrentOptions) => new nn.RNN(3, size, options),
  relu: (size: number, options: nn.RecurrentOptions) =>
    new nn.RNN(3, size, { ...options, nonlinearity: 'relu' }),
  lstm: (size: number, options: nn.RecurrentOptions) => new nn.LSTM(3, size, options),
  gru: (size: number, options: nn.RecurrentOptions) => new nn.GRU(3, size, options),
};

/** Output, last states, and the gradients of input, first states and parameters. */
async function trained(
  cell: keyof typeof networks,
  { steps, rows, size }: Sizes,
  lengths?: readonly number[],
): Promise<Float32Array[]> {
  manualSeed(1);
  const network = networks[cell](size, { bidirectional: true });
  const x = new Parameter(fill([steps, rows, 3], 2), [steps, rows, 3]);
  const [h0, c0] = [3, 4].map((seed) => new Parameter(fill([2, rows, size], seed), [2, rows, size]));
  const input = lengths ? packPaddedSequence(x, lengths, { enforceSorted: false }) : x;
  const [output, last] =
    network instanceof nn.LSTM ? network.forward(input, [h0, c0]) : network.forward(input, h0);
  const y = output instanceof nn.utils.rnn.PackedSequence ? output.padded : output;
  const lasts = Array.isArray(last) ? last : [last];
  const loss = [y, ...lasts].map((one, seed) => one.mul(filled(one.shape, 5 + seed)).sum());
  await loss.reduce((sum, one) => sum.add(one)).backward();
  const values = await Promise.all([y, ...lasts].map((one) => one.array()));
  const parameters = [x, h0, ...(cell === 'lstm' ? [c0] : []), ...network.parameters()];
  return [...(values as Float32Array[]), ...parameters.map(({ grad }) => grad!.slice())];
}

/** Around the widths of vectors and of blocks of rows. */
const sizes: Sizes[] = [
  { steps: 1, rows: 1, size: 1 },
  { steps: 3, rows: 2, size: 15 },
  { steps: 2, rows: 7, size: 16 },
  { steps: 5, rows: 9, size: 17 },
  { steps: 2, rows: 35, size: 33 },
  { steps: 3, rows: 3, size: 100 },
];

describe.each(Object.keys(networks) as (keyof typeof networks)[])('%s', (cell) => {
  test.each(sizes)('$steps steps of $rows rows of $size equal unrolled steps', async (one) => {
    const { own, plain } = await bothWays(() => trained(cell, one));
    for (const [k, numbers] of own.entries())
      expectClose(`result ${k}`, numbers, [...plain[k]], 1e-5, Math.max(1e-3, largest([...plain[k]])));
  });

  test('sequences of any length, 0 after their ends', async () => {
    const lengths = [4, 1, 6, 3, 2, 6, 5, 1, 4];
    const { own, plain } = await bothWays(() => trained(cell, { steps: 6, rows: 9, size: 5 }, lengths));
    for (const [k, numbers] of own.entries()) expectClose(`result ${k}`, numbers, [...plain[k]], 1e-5);
    const places = lengths.flatMap((length, row) =>
      Array.from({ length: 6 - length }, (_, behind) => ((length + behind) * 9 + row) * 10),
    );
    for (const place of places) expect([...own[0].subarray(place, place + 10)]).toEqual(Array(10).fill(0));
  });

  test('results are bit-identical for any number of threads', async () => {
    const compute = () => trained(cell, { steps: 4, rows: 37, size: 20 });
    expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
  });

  test('a row with NaN does not change other rows', async () => {
    manualSeed(1);
    const network = networks[cell](20, {});
    const x = fill([3, 10, 3], 1);
    const read = async () => {
      const [output] = network.forward(tensor(x, [3, 10, 3]));
      return [...((await noGrad(() => output.view(3, 10, 20)).array()) as Float32Array)];
    };
    const before = await read();
    x[3 * 4] = NaN;
    const after = await read();
    const isOfRow = (place: number) => Math.floor(place / 20) % 10 === 4;
    expect(after.every((number, place) => isOfRow(place) || Object.is(number, before[place]))).toBe(true);
    expect(after.filter((_, place) => isOfRow(place)).every(Number.isNaN)).toBe(true);
  });
});

test('an LSTM over 256 steps is one operator, and other lengths do not recompile', async () => {
  const network = new nn.LSTM(4, 8);
  const head = new nn.Linear(8, 3);
  const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
  programCache.clear();
  try {
    const began = process.cpuUsage();
    for (const lengths of [
      [256, 100],
      [3, 255],
    ]) {
      const input = packPaddedSequence(filled([256, 2, 4], 1), lengths, { enforceSorted: false });
      const [, [hN]] = network.forward(input);
      await F.crossEntropy(head.forward(hN.squeeze(0)), tensor(BigInt64Array.of(0n, 2n))).backward();
    }
    expect(compile).toHaveBeenCalledTimes(1);
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1e6, 'seconds of two steps').toBeLessThan(2);
    expect(onnxModelOf(compile.mock.calls[0][0]).model.length).toBeLessThan(20_000);
  } finally {
    compile.mockRestore();
  }
});

test('dropout drops elements between layers only in training', async () => {
  manualSeed(1);
  const network = new nn.GRU(2, 3, { numLayers: 2, dropout: 0.5 });
  const read = async () => [...(await network.forward(filled([4, 2, 2], 1))[0].array())];
  expect(await read()).not.toEqual(await read());
  network.eval();
  expect(await read()).toEqual(await read());
});

describe('packed sequences', () => {
  const sequences = [5, 2, 3].map((length, seed) => filled([length, 2], seed));

  test('have the elements step by step, from the longest sequence to the shortest', async () => {
    const packed = packSequence(sequences, { enforceSorted: false });
    expect(packed.lengths).toEqual([5, 2, 3]);
    expect(packed.batchSizes).toEqual([3, 3, 2, 1, 1]);
    const rows = (sequence: number, step: number) => [
      ...fill([5, 2], sequence).subarray(2 * step, 2 * step + 2),
    ];
    const places = [0, 2, 1].flatMap((sequence) => [[sequence, 0]]);
    const all = [...places, [0, 1], [2, 1], [1, 1], [0, 2], [2, 2], [0, 3], [0, 4]];
    expect([...(await packed.data.array())]).toEqual(all.flatMap(([sequence, step]) => rows(sequence, step)));
  });

  test('of tokens are padded with a token', async () => {
    const tokens = [
      [3n, 4n],
      [5n, 6n, 7n],
    ].map((row) => tensor(BigInt64Array.from(row)));
    const padded = padSequence(tokens, { batchFirst: true, paddingValue: 1 });
    expect([padded.dtype, padded.shape]).toEqual(['int64', [2, 3]]);
    expect([...(await padded.array())]).toEqual([3n, 4n, 1n, 5n, 6n, 7n]);
  });

  test('are cut to the largest length, and padded to totalLength', async () => {
    const x = filled([4, 2, 1], 1);
    const packed = packPaddedSequence(x, tensor(BigInt64Array.of(2n, 1n)));
    const [output, lengths] = padPackedSequence(packed, { paddingValue: -1 });
    const given = fill([4, 2, 1], 1);
    expect([...(await output.array())]).toEqual([given[0], given[1], given[2], -1]);
    expect([...(await lengths.array())]).toEqual([2n, 1n]);
    expect(padPackedSequence(packed, { totalLength: 7 })[0].shape).toEqual([7, 2, 1]);
  });

  test.each<[string, () => unknown, string]>([
    ['a missing length', () => packPaddedSequence(filled([3, 2, 1], 1), [3]), 'expected 2 lengths'],
    [
      'a length of 0',
      () => packPaddedSequence(filled([3, 2, 1], 1), [3, 0]),
      'expected lengths from 1 to 3, got 0.',
    ],
    [
      'a length that is too large',
      () => packPaddedSequence(filled([3, 2, 1], 1), [4, 1]),
      'from 1 to 3, got 4.',
    ],
    [
      'increasing lengths',
      () => packPaddedSequence(filled([3, 2, 1], 1), [1, 2]),
      'pass { enforceSorted: false }',
    ],
    [
      'computed lengths',
      () => packPaddedSequence(filled([3, 2, 1], 1), tensor(BigInt64Array.of(2n, 1n)).flip(0)),
      'Pass an array.',
    ],
    [
      'a totalLength that is too small',
      () => padPackedSequence(packPaddedSequence(filled([3, 2, 1], 1), [3, 1]), { totalLength: 2 }),
      'expected a totalLength of at least 3, the largest length, got 2.',
    ],
    ['no sequences', () => padSequence([]), 'expected at least one sequence, got none.'],
  ])('reject %s', (_, call, message) => {
    expect(call).toThrow(message);
  });
});

test.each<[string, () => unknown, string]>([
  [
    'an input of another size',
    () => new nn.LSTM(3, 4).forward(filled([5, 2, 4], 1)),
    'LSTM: expected float32[L,N,3] or float32[L,3] with at least one step, got float32[5,2,4].',
  ],
  [
    'no steps',
    () => new nn.GRU(3, 4, { batchFirst: true }).forward(filled([2, 0, 3], 1)),
    'GRU: expected float32[N,L,3] or float32[L,3] with at least one step, got float32[2,0,3].',
  ],
  [
    'a first state of another shape',
    () => new nn.RNN(3, 4).forward(filled([5, 2, 3], 1), filled([2, 2, 4], 1)),
    'RNN: expected a first state float32[1,2,4], got float32[2,2,4].',
  ],
  [
    'first cells of another shape',
    () => new nn.LSTM(3, 4).forward(filled([5, 3], 1), [filled([1, 4], 1), filled([1, 1, 4], 1)]),
    'LSTM: expected first cells float32[1,4], got float32[1,1,4].',
  ],
  [
    'no layers',
    () => new nn.GRU(3, 4, { numLayers: 0 }),
    'GRU: numLayers must be a positive integer, got 0.',
  ],
  [
    'an unknown function',
    () => new nn.RNN(3, 4, { nonlinearity: 'gelu' as 'relu' }),
    "RNN: nonlinearity must be 'tanh' or 'relu', got 'gelu'.",
  ],
  [
    'a row of another size',
    () => new nn.GRUCell(3, 4).forward(filled([2, 2], 1)),
    'GRUCell: expected float32[N,3] or float32[3], got float32[2,2].',
  ],
  [
    'a state of another size',
    () => new nn.RNNCell(3, 4).forward(filled([3], 1), filled([1, 4], 1)),
    'RNNCell: expected a state float32[4], got float32[1,4].',
  ],
])('rejects %s', (_, call: () => unknown, message) => {
  expect(call).toThrow(message);
});

test('trains only the weights of the last layer if other parameters need no gradient', async () => {
  const { own, plain } = await bothWays(async () => {
    manualSeed(1);
    const network = new nn.GRU(3, 5, { numLayers: 2 });
    const [first, second] = [[...network.parameters()].slice(0, 4), [...network.parameters()].slice(4)];
    const frozen = noGrad(() => new nn.GRU(3, 3).forward(filled([4, 2, 3], 1))[0]);
    const output: Tensor = network.forward(frozen)[0];
    await output.sum().backward();
    return [...first, ...second].map(({ grad }) => grad!.slice());
  });
  for (const [k, numbers] of own.entries()) expectClose(`gradient ${k}`, numbers, [...plain[k]], 1e-5);
});
