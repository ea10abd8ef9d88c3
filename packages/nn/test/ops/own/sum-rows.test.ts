import { describe, expect, test } from 'vitest';
import { rewrite } from '../../../src/compiler/rewrite.ts';
import { sumRowsOfBfloat16 } from '../../../src/executor/cpu/rewrites/sum-rows.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { autocast, F, Parameter, tensor } from '../../../src/index.ts';
import { cast } from '../../../src/ops/elementwise.ts';
import { reduceSum } from '../../../src/ops/reduction.ts';
import { onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { roundedToBfloat16 } from '../../support/rounded-to-bfloat16.ts';
import '../../support/one-thread.ts';

/** The sum of the rows of bfloat16 numbers, which is the gradient of a bias without a product. */
async function sumsOf(data: Float32Array, shape: readonly number[]): Promise<Float32Array> {
  const bias = new Parameter(new Float32Array(shape.at(-1)!), [shape.at(-1)!]);
  // The gradient of the sum is the data.
  const loss = bias.bfloat16().add(tensor(new Float32Array(data.length), shape).bfloat16());
  await loss.mul(tensor(data, shape).bfloat16()).float().sum().backward();
  return bias.grad!.slice();
}

describe.each([
  [1, 1],
  [3, 15],
  [65, 16],
  [64, 17],
  [130, 255],
  [200, 257],
  [7, 600],
])('%i rows of %i', (rows, columns) => {
  const data = roundedToBfloat16(fill([rows, columns], 1));

  test('equal sums in double precision, rounded once', async () => {
    const found = await sumsOf(data, [rows, columns]);
    for (const [column, one] of found.entries()) {
      let [sum, size] = [0, 0];
      for (let row = 0; row < rows; row += 1) {
        sum += data[row * columns + column];
        size += Math.abs(data[row * columns + column]);
      }
      expect(Math.abs(one - sum)).toBeLessThanOrEqual(2 ** -8 * Math.abs(sum) + 1e-6 * size);
    }
  });

  test('NaN and infinities reach only their column', async () => {
    const special = data.slice();
    special[columns * rows - 1] = -Infinity;
    special[0] = NaN;
    const [before, after] = [await sumsOf(data, [rows, columns]), await sumsOf(special, [rows, columns])];
    expect(after[0]).toBeNaN();
    if (columns > 1) expect(after[columns - 1]).toBe(-Infinity);
    expect([...after.subarray(1, columns - 1)]).toEqual([...before.subarray(1, columns - 1)]);
  });
});

test('bits do not depend on the number of threads', async () => {
  const data = roundedToBfloat16(fill([100, 1000], 1));
  const compute = () => sumsOf(data, [4, 25, 1000]);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

describe('sums of bfloat16', () => {
  const x = cast(new Parameter(fill([2, 3, 20], 1), [2, 3, 20]).trainedValue, 'bfloat16');
  const operators = (axes: readonly number[], value = x) =>
    topologicalOrder(rewrite([reduceSum(value, axes, true)], [sumRowsOfBfloat16])).map(({ op }) => op);

  test('over all axes but the last, of bfloat16 and of its conversion, are one operator', () => {
    expect(operators([0, 1])).toContain('SumRows');
    expect(operators([0, 1], cast(x, 'float32'))).toContain('SumRows');
  });

  test('over other axes are not', () => {
    expect(operators([0])).not.toContain('SumRows');
    expect(operators([0, 1, 2])).not.toContain('SumRows');
    expect(operators([2])).not.toContain('SumRows');
  });
});

test('the gradient of the bias of a linear layer under autocast', async () => {
  const [rows, inner, columns] = [50, 8, 20];
  const [weight, bias] = [
    new Parameter(fill([columns, inner], 1), [columns, inner]),
    new Parameter(fill([columns], 2), [columns]),
  ];
  const d = roundedToBfloat16(fill([rows, columns], 3));
  const y = autocast({ dtype: 'bfloat16' }, () =>
    F.linear(tensor(fill([rows, inner], 4), [rows, inner]), weight, bias),
  );
  await y
    .float()
    .mul(tensor(d, [rows, columns]))
    .sum()
    .backward();
  const exact = Array.from({ length: columns }, (_, column) =>
    d.reduce((sum, one, place) => (place % columns === column ? sum + one : sum), 0),
  );
  for (const [column, one] of bias.grad!.entries())
    expect(Math.abs(one - exact[column])).toBeLessThan(0.01 * rows ** 0.5);
});
