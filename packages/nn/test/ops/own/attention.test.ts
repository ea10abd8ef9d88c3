import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { builtFile } from '../../../../../test/support/built-script.ts';
import { F, manualSeed, nn, Parameter, tensor, type Tensor } from '../../../src/index.ts';
import { checkpoint } from '../../../src/functional/activation-checkpoint.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

interface Sizes {
  readonly batch?: readonly number[];
  readonly queries: number;
  readonly keys: number;
  readonly size: number;
  readonly valueSize?: number;
}

const names = ['result', 'gradient of the query', 'gradient of the key', 'gradient of the value'];

/** The result and the gradients of query, key and value. */
async function trained(
  { batch = [2], queries, keys, size, valueSize = size }: Sizes,
  options: F.AttentionOptions = {},
  change: (arrays: readonly Float32Array[]) => void = () => {},
): Promise<Float32Array[]> {
  manualSeed(3);
  const shapes = [
    [...batch, queries, size],
    [...batch, keys, size],
    [...batch, keys, valueSize],
  ];
  // Scores of about 2.
  const arrays = shapes.map((shape, seed) => fill(shape, seed).map((one) => 2 * one));
  change(arrays);
  const operands = arrays.map((array, i) => new Parameter(array, shapes[i]));
  const attended = F.scaledDotProductAttention(operands[0], operands[1], operands[2], options);
  const result = (await attended.array()) as Float32Array;
  await attended
    .mul(tensor(fill(attended.shape, 9), attended.shape))
    .sum()
    .backward();
  return [result, ...operands.map((operand) => operand.grad!.slice())];
}

async function expectEqualBothWays(...given: Parameters<typeof trained>): Promise<void> {
  const { own, plain } = await bothWays(() => trained(...given));
  for (const [i, name] of names.entries()) expectNear(name, own[i], plain[i], 4e-6);
}

/** Compares numbers of about 1, or larger ones: sums may cancel out, so differences below are absolute. */
function expectNear(name: string, actual: Float32Array, expected: Float32Array, tolerance: number): void {
  const worst = actual.reduce((most, one, i) => Math.max(most, Math.abs(one - expected[i])), 0);
  const largest = expected.reduce((most, one) => Math.max(most, Math.abs(one)), 1);
  expect(worst, name).toBeLessThan(tolerance * largest);
}

/** True for about two thirds of the elements; row 3 is false. */
function flags(shape: readonly number[]): Tensor {
  const width = shape.at(-1)!;
  const elements = Array.from(fill(shape, 4), (one, i) => one > -0.3 && Math.floor(i / width) !== 3);
  return tensor(elements, shape);
}

/** Around the widths of vectors, of blocks of queries (32, 48) and of tiles of keys (64, 192). */
const lengths = [1, 15, 16, 31, 33, 48, 49, 64, 65, 191, 193, 400];

describe('agrees with plain operators', () => {
  test.each(lengths)('%i queries and keys', async (length) => {
    await expectEqualBothWays({ queries: length, keys: length, size: 16 });
    await expectEqualBothWays({ queries: length, keys: length, size: 16 }, { isCausal: true });
  });

  test.each([1, 2, 15, 16, 17, 31, 64, 80, 127, 256])('heads of %i elements', async (size) => {
    await expectEqualBothWays({ queries: 35, keys: 50, size, valueSize: size + 3 }, { isCausal: true });
  });

  test.each([
    [700, 3],
    [3, 700],
    [1, 1025],
    [1025, 1],
    [530, 200],
  ])('%i queries of %i keys', async (queries, keys) => {
    await expectEqualBothWays({ queries, keys, size: 5 });
    await expectEqualBothWays({ queries, keys, size: 5 }, { isCausal: true });
  });

  test.each([
    { shape: [67, 210] },
    { shape: [1, 210] },
    { shape: [67, 1] },
    { shape: [1, 1] },
    { shape: [2, 1, 67, 210] },
    { shape: [2, 3, 1, 210] },
    { shape: [1, 3, 67, 1] },
  ])('masks $shape', async ({ shape }) => {
    const sizes = { batch: [2, 3], queries: 67, keys: 210, size: 7 };
    const mask = flags(shape);
    await expectEqualBothWays(sizes, { attnMask: mask });
    await expectEqualBothWays(sizes, { attnMask: mask, isCausal: true });
    await expectEqualBothWays(sizes, { attnMask: mask.float().log().add(0.5), scale: -0.7 });
  });

  test('dropout: the same weights are dropped', async () => {
    for (const keys of [7, 64, 301]) {
      await expectEqualBothWays({ batch: [2, 3], queries: 70, keys, size: 9 }, { dropoutP: 0.3 });
      const options = { dropoutP: 0.6, isCausal: true, attnMask: flags([70, keys]) };
      await expectEqualBothWays({ batch: [2, 3], queries: 70, keys, size: 9 }, options);
    }
    await expectEqualBothWays({ queries: 7, keys: 9, size: 4 }, { dropoutP: 1 });
  });

  test('batch dimensions broadcast, that of the mask too', async () => {
    const { own, plain } = await bothWays(async () => {
      const [q, k, v] = [
        [3, 1, 5, 4],
        [2, 7, 4],
        [3, 2, 7, 6],
      ].map((shape, seed) => new Parameter(fill(shape, seed), shape));
      const mask = flags([2, 1, 1, 5, 7]);
      const attended = F.scaledDotProductAttention(q, k, v, { attnMask: mask });
      expect(attended.shape).toEqual([2, 3, 2, 5, 6]);
      await attended
        .mul(tensor(fill(attended.shape, 9), attended.shape))
        .sum()
        .backward();
      return [(await attended.array()) as Float32Array, q.grad!, k.grad!, v.grad!].map((one) => one.slice());
    });
    for (const [i, name] of names.entries()) expectNear(name, own[i], plain[i], 4e-6);
  });
});

describe('NaN and infinities', () => {
  const sizes = { batch: [], queries: 40, keys: 70, size: 8 };
  /** Positions that are NaN. */
  const invalid = (array: Float32Array) => [...array.keys()].filter((i) => Number.isNaN(array[i]));

  test.each<[string, number, number, number]>([
    ['a query', 0, 33, NaN],
    ['a key', 1, 69, NaN],
    ['a value', 2, 5, NaN],
    ['a query', 0, 33, Infinity],
    ['a key', 1, 69, Infinity],
    ['a value', 2, 5, -Infinity],
  ])(
    'of %s (operand %i, row %i: %f) reach the results of plain operators',
    async (_, operand, row, number) => {
      const change = (arrays: readonly Float32Array[]) => {
        arrays[operand][row * sizes.size + 3] = number;
      };
      const { own, plain } = await bothWays(() => trained(sizes, {}, change));
      for (const [i, name] of names.entries()) expect(invalid(own[i]), name).toEqual(invalid(plain[i]));
      expect(own.some((array) => array.some((one) => !Number.isFinite(one)))).toBe(true);
    },
  );

  test('a mask of NaN is not hidden, and scores of −∞ without a mask result in NaN', async () => {
    const attnMask = tensor(
      Float32Array.from({ length: 40 * 70 }, (_, i) => (i === 75 ? NaN : -Infinity)),
      [40, 70],
    );
    const { own, plain } = await bothWays(() => trained(sizes, { attnMask }));
    expect(invalid(own[0])).toEqual(invalid(plain[0]));
    expect(invalid(own[0])).toHaveLength(8);
    const infinite = (arrays: readonly Float32Array[]) => {
      arrays[0].fill(-3e38);
      arrays[1].fill(3e38);
    };
    const overflown = await bothWays(() => trained(sizes, {}, infinite));
    expect(invalid(overflown.own[0])).toEqual(invalid(overflown.plain[0]));
    expect(invalid(overflown.own[0])).toHaveLength(320);
  });

  test('large scores neither overflow nor lose precision', async () => {
    const { own, plain } = await bothWays(() => trained(sizes, { scale: 300 }));
    // Scores of up to 1,000 have an error of 1e-4.
    for (const [i, name] of names.entries()) expectClose(name, own[i], [...plain[i]], 1e-3);
  });
});

test('scores near the limit of float32 agree with plain operators', async () => {
  const huge = (arrays: readonly Float32Array[]) => {
    for (let i = 0; i < arrays[0].length; i += 3) arrays[0][i] *= 1e18;
    for (let i = 0; i < arrays[1].length; i += 5) arrays[1][i] *= 1e18;
  };
  const sizes = { batch: [2], queries: 40, keys: 70, size: 8 };
  for (const isCausal of [false, true]) {
    const { own, plain } = await bothWays(() => trained(sizes, { isCausal, scale: 0.3 }, huge));
    expectNear('result', own[0], plain[0], 4e-6);
    expectNear('gradient of the value', own[3], plain[3], 4e-6);
    for (const array of own) expect(array.every((one) => Number.isFinite(one))).toBe(true);
  }
});

test('a query that attends to no key returns 0 and has gradient 0, in any tile', async () => {
  const sizes = { batch: [], queries: 50, keys: 300, size: 4 };
  const allowed = Array.from({ length: 50 * 300 }, (_, i) => Math.floor(i / 300) !== 34);
  for (const attnMask of [tensor(allowed, [50, 300]), tensor(allowed, [50, 300]).float().log()]) {
    const [result, ofQuery] = await trained(sizes, { attnMask });
    for (const array of [result, ofQuery]) {
      expect(array.subarray(34 * 4, 35 * 4).every((one) => one === 0)).toBe(true);
      expect(array.every((one) => Number.isFinite(one))).toBe(true);
    }
  }
});

test('results are bit-identical for any number of threads', async () => {
  const compute = () =>
    trained({ batch: [3, 2], queries: 1100, keys: 70, size: 20 }, { dropoutP: 0.1, isCausal: true });
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('the weights that a layer returns are those without dropout', async () => {
  const attention = new nn.MultiheadAttention(8, 2, { batchFirst: true, dropout: 0.9 });
  const x = tensor(fill([2, 5, 8], 1), [2, 5, 8]);
  const { weights } = attention.forward(x);
  const rows = (await weights.array()) as Float32Array;
  for (let row = 0; row < 10; row += 1) {
    const sum = rows.subarray(row * 5, row * 5 + 5).reduce((total, one) => total + one, 0);
    expect(sum).toBeCloseTo(1, 6);
  }
});

test('memory grows linearly with the number of tokens', () => {
  const script = fileURLToPath(
    builtFile(new URL('../../functional/attention-memory.script.ts', import.meta.url)),
  );
  const mebibytesOf = (tokens: number) =>
    Number(execFileSync(process.execPath, [script, String(tokens)], { encoding: 'utf8' }));
  // The weights of 4 heads would be an array of 256 MiB.
  expect(mebibytesOf(4096)).toBeLessThan(mebibytesOf(1024) + 100);
});

test('is bit-identical when a checkpoint computes it twice', async () => {
  const shape = [2, 40, 12];
  const train = async (inPart: boolean) => {
    manualSeed(5);
    const x = new Parameter(fill(shape, 1), shape);
    const part = (y: Tensor) => F.scaledDotProductAttention(y, y, y, { dropoutP: 0.4, isCausal: true });
    const attended = inPart ? checkpoint(part, x) : part(x);
    await attended.mul(attended).sum().backward();
    return x.grad!.slice();
  };
  expect(await train(true)).toEqual(await train(false));
});
