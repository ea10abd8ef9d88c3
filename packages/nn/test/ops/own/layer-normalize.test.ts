import { describe, expect, test } from 'vitest';
import { F, Parameter, tensor } from '../../../src/index.ts';
import { bothWays, onThreads, worstUlps } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose, largest } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const names = ['y', 'dx', 'dWeight', 'dBias'];

/** The result, and the gradients of input, weight and bias. */
async function trained(x: Float32Array, shape: readonly number[], axes = 1): Promise<Float32Array[]> {
  const inner = shape.slice(-axes);
  const input = new Parameter(x.slice(), shape);
  const [weight, bias] = [6, 7].map((seed) => new Parameter(fill(inner, seed), inner));
  const y = F.layerNorm(input, inner, weight, bias);
  const values = (await y.array()) as Float32Array;
  await y
    .mul(tensor(fill(shape, 8), shape))
    .sum()
    .backward();
  return [values, ...[input, weight, bias].map(({ grad }) => grad!.slice())];
}

/** The same in double precision. */
function exactly(x: Float32Array, rows: number, width: number): number[][] {
  const [weight, bias, dy] = [fill([width], 6), fill([width], 7), fill([rows, width], 8)];
  const [y, dx] = [new Array<number>(x.length), new Array<number>(x.length)];
  const [dWeight, dBias] = [new Array<number>(width).fill(0), new Array<number>(width).fill(0)];
  const columns = Array.from({ length: width }, (_, c) => c);
  const mean = (of: (c: number) => number) => columns.reduce((sum, c) => sum + of(c), 0) / width;
  for (let row = 0; row < rows; row += 1) {
    const at = (c: number) => row * width + c;
    const center = mean((c) => x[at(c)]);
    const deviation = Math.sqrt(mean((c) => (x[at(c)] - center) ** 2) + 1e-5);
    const z = (c: number) => (x[at(c)] - center) / deviation;
    const g = (c: number) => dy[at(c)] * weight[c];
    const [ofGradients, ofProducts] = [mean(g), mean((c) => g(c) * z(c))];
    for (const c of columns) {
      y[at(c)] = z(c) * weight[c] + bias[c];
      dx[at(c)] = (g(c) - ofGradients - z(c) * ofProducts) / deviation;
      dWeight[c] += dy[at(c)] * z(c);
      dBias[c] += dy[at(c)];
    }
  }
  return [y, dx, dWeight, dBias];
}

/** Around the widths of vectors, and one more than a block of sums. */
const widths = [1, 2, 7, 8, 15, 16, 17, 31, 33, 384, 511, 513, 10_000];

describe('against double precision and plain operators', () => {
  test.each(widths)('rows of %i elements', async (width) => {
    const rows = width > 1000 ? 3 : 70;
    const x = fill([rows, width], 3).map((one) => 3 * one + 0.5);
    const exact = exactly(x, rows, width);
    const { own, plain } = await bothWays(() => trained(x, [rows, width]));
    for (const [k, name] of names.entries()) {
      expectClose(name, own[k], [...plain[k]], 1e-5, Math.max(1, largest(exact[k])));
      // The gradients of shorter rows are differences of nearly equal terms.
      if (width < 7) continue;
      const limit = name === 'y' || name === 'dx' ? 3 : 8;
      expect(worstUlps(own[k], exact[k]), `${name}, in units of the last place`).toBeLessThan(limit);
    }
  });

  test('the last two axes of four', async () => {
    const shape = [2, 3, 5, 7];
    const { own, plain } = await bothWays(() => trained(fill(shape, 2), shape, 2));
    for (const [k, name] of names.entries()) expectClose(name, own[k], [...plain[k]], 2e-6);
  });

  test.each([NaN, Infinity, -Infinity])('a row with %d does not change other rows', async (special) => {
    const x = fill([3, 20], 1);
    x[25] = special;
    const { own, plain } = await bothWays(() => trained(x, [3, 20]));
    const isNaN = (numbers: Float32Array) => Array.from(numbers, Number.isNaN);
    for (const [k] of names.entries()) expect(isNaN(own[k]), names[k]).toEqual(isNaN(plain[k]));
    expect(isNaN(own[0]).indexOf(true)).toBe(20);
    expect(isNaN(own[0]).lastIndexOf(true)).toBe(39);
  });

  test('an empty batch', async () => {
    const compute = () => F.layerNorm(tensor(new Float32Array(0), [0, 5]), [5]).array();
    const { own, plain } = await bothWays(compute);
    expect(own).toEqual(plain);
  });
});

test('results are bit-identical for any number of threads', async () => {
  for (const shape of [
    [97, 384],
    [5, 40_000],
  ]) {
    const compute = () => trained(fill(shape, 1), shape);
    expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
  }
});

test('parameters without a gradient, and without weight and bias', async () => {
  const compute = async () => {
    const x = new Parameter(fill([4, 9], 1), [4, 9]);
    const bias = new Parameter(fill([9], 3), [9]);
    const factors = tensor(fill([4, 9], 5), [4, 9]);
    const frozen = F.layerNorm(x, [9], tensor(fill([9], 2)), bias);
    await frozen
      .add(F.layerNorm(x, [9]))
      .mul(factors)
      .sum()
      .backward();
    return [x.grad!.slice(), bias.grad!.slice()];
  };
  const { own, plain } = await bothWays(compute);
  for (const [k, numbers] of own.entries()) expectClose('gradient', numbers, [...plain[k]], 2e-6);
});

test.each([
  [1, 1, 1],
  [2, 4, 9],
])('a gradient of [%i, %i, %i] that is read in bfloat16 only', async (...shape) => {
  const count = shape.reduce((product, size) => product * size);
  const compute = async () => {
    const x = new Parameter(fill([count], 1), shape);
    const factors = tensor(fill([count], 2), shape).bfloat16();
    await F.groupNorm(x.bfloat16(), 1).mul(factors).float().sum().backward();
    return x.grad!.slice();
  };
  const { own, plain } = await bothWays(compute);
  expectClose('dx', own, plain, 2 ** -8);
});
