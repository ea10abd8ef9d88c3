import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { F, nn, Parameter, programCache, tensor } from '../../src/index.ts';
import { bothWays, onThreads } from '../support/both-ways.ts';
import { fill, fillClasses } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

const integers = (...numbers: number[]) => tensor(BigInt64Array.from(numbers, BigInt));
const table = (rows: number, width: number) => new Parameter(fill([rows, width], 1), [rows, width]);
const modes = ['sum', 'mean', 'max'] as const;

/** Bags of several sizes, one of them empty: the result and the gradient of the table. */
async function trained(
  mode: 'sum' | 'mean' | 'max',
  [rows, width]: readonly [number, number],
  paddingIdx?: number,
): Promise<Float32Array[]> {
  const weight = table(rows, width);
  const [sizes, total] = [[0, 3, 0, 1, 17, 5], 26];
  const offsets = sizes.map((_, bag) => sizes.slice(0, bag).reduce((sum, size) => sum + size, 0));
  const input = tensor(fillClasses(total, rows, 2));
  const y = F.embeddingBag(input, weight, integers(...offsets), { mode, paddingIdx });
  const values = (await y.array()) as Float32Array;
  await y
    .mul(tensor(fill(y.shape, 8), y.shape))
    .sum()
    .backward();
  return [values, weight.grad!.slice()];
}

describe.each(modes)('%s', (mode) => {
  test.each([1, 7, 16, 17, 63, 64, 65, 130])(
    'of rows of %i elements equals plain operators',
    async (width) => {
      for (const paddingIdx of [undefined, 2]) {
        const { own, plain } = await bothWays(() => trained(mode, [11, width], paddingIdx));
        for (const [k, name] of ['y', 'gradient'].entries()) expectClose(name, own[k], [...plain[k]], 1e-5);
      }
    },
  );

  test('does not depend on the number of threads', async () => {
    const compute = () => trained(mode, [3001, 100]);
    expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
  });

  test('without rows, or without bags, is 0', async () => {
    const weight = table(4, 3);
    const read = async (rows: number, bags: number) => [
      ...(await F.embeddingBag(tensor(new BigInt64Array(rows * bags), [bags, rows]), weight, undefined, {
        mode,
      }).array()),
    ];
    expect(await read(0, 2)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await read(3, 0)).toEqual([]);
  });
});

test('new offsets and rows do not recompile', async () => {
  const layer = new nn.EmbeddingBag(5, 3);
  const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
  programCache.clear();
  try {
    for (const offset of [1, 2, 3])
      await layer
        .forward(integers(1, 4, offset), integers(0, offset))
        .sum()
        .backward();
    expect(compile).toHaveBeenCalledTimes(1);
  } finally {
    compile.mockRestore();
  }
});

test('a frozen table passes gradients to the weights of the rows', async () => {
  const weights = new Parameter(fill([2, 3], 4), [2, 3]);
  const frozen = tensor(fill([4, 2], 1), [4, 2]);
  const rows = tensor(BigInt64Array.of(0n, 1n, 2n, 3n, 3n, 1n), [2, 3]);
  await F.embeddingBag(rows, frozen, undefined, { mode: 'sum', perSampleWeights: weights }).sum().backward();
  const sums = [0, 1, 2, 3].map((row) => fill([4, 2], 1)[2 * row] + fill([4, 2], 1)[2 * row + 1]);
  expectClose(
    'gradient',
    weights.grad!,
    [0, 1, 2, 3, 3, 1].map((row) => sums[row]),
    1e-6,
  );
});

test.each<[string, () => unknown, string]>([
  [
    'rows out of range',
    () => F.embeddingBag(integers(0, 4), table(4, 2), integers(0)),
    'embeddingBag: expected rows from 0 to 3, got 4 at index 1.',
  ],
  [
    'one dimension without offsets',
    () => F.embeddingBag(integers(0, 4), table(5, 2)),
    'embeddingBag: expected rows int64[B,L] and a table float32[V,D], or rows int64[T], a table and offsets int64[B], got int64[2], float32[5,2].',
  ],
  [
    'weights of a mean',
    () => F.embeddingBag(integers(0), table(5, 2), integers(0), { perSampleWeights: tensor([0.5]) }),
    "embeddingBag: perSampleWeights need the mode 'sum', got 'mean'.",
  ],
  [
    'weights of another shape',
    () =>
      F.embeddingBag(integers(0), table(5, 2), integers(0), {
        mode: 'sum',
        perSampleWeights: tensor([0.5, 0.5]),
      }),
    'embeddingBag: expected perSampleWeights float32[1], as the rows, got float32[2].',
  ],
  [
    'an unknown mode',
    () => new nn.EmbeddingBag(3, 2, { mode: 'min' as 'max' }),
    "EmbeddingBag: mode must be 'sum', 'mean' or 'max', got 'min'.",
  ],
  [
    'a padding row out of range',
    () => new nn.EmbeddingBag(3, 2, { paddingIdx: 3 }),
    'EmbeddingBag: paddingIdx must be an integer from -3 to 2, got 3.',
  ],
])('rejects %s', (_, call, message) => {
  expect(call).toThrow(message);
});

test('rejects offsets that decrease or leave the input when it runs', async () => {
  const run = (...offsets: number[]) =>
    F.embeddingBag(integers(0, 1, 2), table(3, 2), integers(...offsets)).array();
  await expect(run(0, 2, 1)).rejects.toThrow('expected increasing offsets from 0 to 3, got 2 and 1');
  await expect(run(0, 4)).rejects.toThrow('expected increasing offsets from 0 to 3');
  await expect(run(1, 2)).rejects.toThrow('expected 0 as the first offset, got 1');
});
