import { describe, expect, test } from 'vitest';
import { differentiate } from '../../../src/compiler/differentiate.ts';
import { fuseElementwise } from '../../../src/executor/cpu/fuse-elementwise.ts';
import { fuseEpilogues } from '../../../src/executor/cpu/fuse-epilogues.ts';
import { fuseProducts } from '../../../src/executor/cpu/fuse-products.ts';
import type { Value } from '../../../src/graph/node.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { Parameter } from '../../../src/index.ts';
import { add, cast, div, mul, relu, sub } from '../../../src/ops/elementwise.ts';
import { gemm, matmul } from '../../../src/ops/linear-algebra.ts';
import { gelu } from '../../../src/ops/own/gelu.ts';
import { reduceSum } from '../../../src/ops/reduction.ts';
import { reshape, transpose } from '../../../src/ops/shape.ts';
import { constant, input } from '../../../src/ops/source.ts';
import { bitsOf, computed } from '../../support/computed-graph.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

const special = [NaN, 0, -0, Infinity, -Infinity, 1e-42, 3.39e38, 1, -1];

/** A parameter, with special numbers at every 37th place if asked for. */
function leaf(shape: readonly number[], seed: number, isSpecial = false): Value {
  const data = fill(shape, seed);
  for (let i = 5 * seed; isSpecial && i < data.length; i += 37)
    data[i] = special[(i + seed) % special.length];
  return new Parameter(data, shape).trainedValue;
}

const narrow = (value: Value) => cast(value, 'bfloat16');

/** The operators of the fused graph, whose bits are those of products and elementwise operators one after another. */
async function fused(values: readonly Value[]): Promise<readonly string[]> {
  const products = fuseProducts(values);
  const result = fuseEpilogues(fuseElementwise(products));
  expect(bitsOf(await computed(values, result))).toEqual(bitsOf(await computed(values, products)));
  return topologicalOrder(result)
    .map(({ op }) => op)
    .filter((op) => !['Input', 'Constant', 'Number', 'Reshape', 'Cast'].includes(op))
    .sort();
}

type Linear = (x: Value, seed: number, to: number) => Value;

/** A product without a bias. */
const linears: Readonly<Record<'float32' | 'bfloat16', Linear>> = {
  float32: (x, seed, to) => matmul(x, leaf([x.shape.at(-1)!, to], seed)),
  bfloat16: (x, seed, to) => matmul(narrow(x), narrow(leaf([x.shape.at(-1)!, to], seed))),
};

describe.each(['float32', 'bfloat16'] as const)('in %s', (dtype) => {
  const linear = linears[dtype];
  const asDtype = (value: Value) => cast(value, dtype);

  describe.each([
    [4, 1, 1],
    [5, 7, 17],
    [33, 20, 97],
    [130, 40, 240],
  ])('%i rows of %i elements times %i columns are one operator', (rows, inner, columns) => {
    const x = leaf([rows, inner], 1, true);
    const y = (seed = 2) => linear(x, seed, columns);
    const row = () => leaf([columns], 3, true);
    const whole = (seed = 4) => asDtype(leaf([rows, columns], seed, true));
    // Periods of fewer elements are not part of a program.
    const isWide = columns >= 16 || columns === 1;

    test.each<[string, () => readonly Value[], boolean]>([
      ['a bias', () => [add(y(), row())], true],
      ['a bias in its dtype', () => [add(asDtype(row()), y())], true],
      ['ReLU', () => [relu(y())], false],
      ['a bias and ReLU', () => [relu(add(y(), row()))], true],
      ['GELU', () => [gelu(y())], false],
      ['a bias and GELU by the tangent', () => [gelu(add(y(), row()), 'tanh')], true],
      ['a residual', () => [add(y(), whole())], false],
      ['a bias, a residual and a scale', () => [mul(add(add(y(), row()), whole()), constant(0.3))], true],
      ['a scale', () => [div(y(), leaf([1], 5))], false],
      [
        'a residual whose gradient reads the product',
        () => [mul(y(), whole()), sub(whole(), whole(6))],
        false,
      ],
    ])('%s', async (_, make, needsRows) => {
      if (needsRows && !isWide) return;
      expect((await fused(make())).filter((op) => op !== 'Elementwise' && op !== 'Sub')).toEqual([
        'MatrixProduct',
      ]);
    });

    test('a product that is read besides', async () => {
      const product = y();
      expect(await fused([product, gelu(product)])).toEqual(['MatrixProduct']);
      const later = relu(product);
      expect(await fused([later, add(product, later)])).toEqual(['MatrixProduct']);
    });

    test('the sum of two products reads the first one', async () => {
      expect(await fused([add(y(2), y(7))])).toEqual(['MatrixProduct', 'MatrixProduct']);
    });
  });

  test('batches, transposes and views', async () => {
    const [batch, rows, inner, columns] = [3, 5, 6, 32];
    const left = asDtype(leaf([batch, rows, inner], 1, true));
    const right = asDtype(leaf([batch, columns, inner], 2));
    const scores = mul(matmul(left, transpose(right, [0, 2, 1])), constant(0.25));
    const masked = add(scores, leaf([rows, columns], 3, true));
    expect(await fused([masked])).toEqual(['MatrixProduct']);
    const flat = gemm(
      asDtype(leaf([batch * rows, inner], 1)),
      asDtype(leaf([columns, inner], 4)),
      undefined,
      {
        transB: true,
      },
    );
    const product = reshape(flat, [batch, rows, columns]);
    expect(await fused([relu(add(product, leaf([columns], 5, true)))])).toEqual(['MatrixProduct']);
    // Rows of half of a product.
    const halves = reshape(flat, [batch, rows, 2, columns / 2]);
    await fused([add(halves, leaf([columns / 2], 6, true))]);
  });

  test('a value that depends on the product is not part of its program', async () => {
    const x = leaf([6, 8], 1);
    const product = linear(x, 2, 8);
    const other = linear(product, 3, 8);
    expect(await fused([add(product, other), reduceSum(product, [0, 1], false)])).toEqual([
      'MatrixProduct',
      'MatrixProduct',
      'ReduceSum',
    ]);
  });

  test('a network has only products, forward and backward', async () => {
    const x = leaf([20, 16], 1);
    const hidden = relu(add(linear(x, 2, 48), leaf([48], 3)));
    const other = gelu(add(linear(hidden, 4, 48), leaf([48], 5)), 'tanh');
    const output = add(add(linear(other, 6, 16), leaf([16], 7)), x);
    // Its gradient is the output, and not a constant.
    const loss = reduceSum(mul(output, mul(output, constant(0.5))), [0, 1], false);
    const all = await fused([loss, ...differentiate(loss).values()]);
    expect(all.filter((op) => op === 'Elementwise').length).toBeLessThanOrEqual(1);
    expect(all.filter((op) => ['Add', 'Relu', 'Gelu', 'GeluGradient', 'Where'].includes(op))).toEqual([]);
  });

  test('a weight that is used twice: its gradient is one accumulated product', async () => {
    const weight = asDtype(leaf([16, 24], 1));
    const through = (x: Value) => gemm(asDtype(x), weight);
    const [a, b] = [through(leaf([9, 16], 2)), through(leaf([7, 16], 3))];
    const loss = add(reduceSum(mul(a, a), [0, 1], false), reduceSum(mul(b, b), [0, 1], false));
    const gradients = differentiate(loss);
    const all = await fused([...gradients.values()]);
    expect(all).not.toContain('Add');
  });
});

test('inputs that are computed too late are read by a program of their own', async () => {
  const x = input('float32', [8, 8], { data: fill([8, 8], 1) });
  const first = matmul(x, leaf([8, 8], 2));
  const second = matmul(gelu(first), leaf([8, 8], 3));
  const values = [mul(first, second), relu(first)];
  const all = await fused(values);
  expect(all.filter((op) => op === 'MatrixProduct').length).toBe(2);
});
