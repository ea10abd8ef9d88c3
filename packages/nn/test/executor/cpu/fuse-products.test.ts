import { describe, expect, test } from 'vitest';
import { fuseProducts } from '../../../src/executor/cpu/fuse-products.ts';
import { isNode } from '../../../src/graph/node.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { autocast, Parameter, tensor, type Tensor } from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

/** Numbers that bfloat16 represents. */
const narrow = (shape: readonly number[], seed: number) =>
  tensor(
    fill(shape, seed).map((one) => Math.round(one * 64) / 64),
    shape,
  );

function productsOf(result: Tensor): readonly boolean[] {
  return topologicalOrder(fuseProducts([result.value]))
    .filter((node) => isNode(node, 'MatrixProduct'))
    .map(({ attributes }) => attributes.inBfloat16);
}

const inBfloat16 = <T>(run: () => T): T => autocast({ dtype: 'bfloat16' }, run);

describe('functions that compute bfloat16 operands in float32 multiply in bfloat16', () => {
  const [rows, inner, columns] = [9, 13, 17];

  test.each<[string, () => Tensor]>([
    ['addmm', () => narrow([columns], 1).addmm(narrow([rows, inner], 2), narrow([inner, columns], 3))],
    [
      'addmm with factors',
      () =>
        narrow([rows, columns], 1).addmm(
          narrow([rows, inner], 2),
          narrow([columns, inner], 3).transpose(0, 1),
          {
            beta: 0.5,
            alpha: 2,
          },
        ),
    ],
    [
      'baddbmm',
      () => narrow([columns], 1).baddbmm(narrow([2, rows, inner], 2), narrow([2, inner, columns], 3)),
    ],
  ])('%s under autocast, and of bfloat16 operands', async (_, run) => {
    const result = inBfloat16(run);
    expect(result.dtype).toBe('bfloat16');
    expect(productsOf(result)).toEqual([true]);
    // The operands are exact, so only the result is rounded.
    const exact = await run().array();
    const found = await result.array();
    const nearest = await tensor(exact).bfloat16().array();
    expect([...found]).toEqual([...nearest]);
  });

  test('not if an operand is float32', () => {
    const x = narrow([rows, inner], 1).bfloat16().float();
    expect(productsOf(x.matmul(narrow([inner, columns], 2)))).toEqual([false]);
  });
});

test('gradients of addmm under autocast', async () => {
  const shapes = [[17], [9, 13], [13, 17]] as const;
  const trained = async (run: <T>(f: () => T) => T) => {
    const [x, a, b] = shapes.map((shape, seed) => new Parameter(fill(shape, seed + 1), shape));
    await run(() => x.addmm(a, b).square().mean()).backward();
    return [x, a, b].map(({ grad }) => grad!.slice());
  };
  const [narrowly, exact] = [await trained(inBfloat16), await trained((f) => f())];
  for (const [place, gradient] of narrowly.entries()) {
    const most = Math.max(...exact[place].map(Math.abs));
    for (const [i, one] of gradient.entries())
      expect(Math.abs(one - exact[place][i])).toBeLessThan(0.02 * most);
  }
});
