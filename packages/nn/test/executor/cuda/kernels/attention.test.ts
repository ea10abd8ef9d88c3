import { describe, expect, test } from 'vitest';
import { attentions } from '../../../../src/executor/cuda/kernels/attention.ts';
import { attentionsByProducts } from '../../../../src/executor/cuda/kernels/attention-products.ts';
import { attentionsByTiles } from '../../../../src/executor/cuda/kernels/attention-tiles.ts';
import { limitOf } from '../../../../src/executor/cuda/kernels/index.ts';
import type { AttentionPlaces } from '../../../../src/graph/attributes.ts';
import { createNode, type Node, type Value } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { attention, placesOf } from '../../../../src/ops/own/attention.ts';
import { cast, widened } from '../../../../src/ops/elementwise.ts';
import { inFloat32 } from '../../../../src/value-type.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;
const narrow = (shape: readonly number[], seed: number, mean = 0) =>
  cast(
    tensor(
      fill(shape, seed).map((one) => one + mean),
      shape,
    ).value,
    'bfloat16',
  );
const scale = tensor(Float32Array.of(0.3), []).value;

function gradientOf(node: Node<'Attention'>): Node<'AttentionGradient'> {
  const places = placesOf(node);
  const d = cast(narrow(node.outputs[0].shape, 9), node.outputs[0].dtype);
  const firsts = [...new Set(places.targets)].map((target) => places.targets.indexOf(target));
  const types = firsts.map((operand) => node.inputs[operand]);
  const inputs = [d, ...node.outputs, ...node.inputs];
  return createNode('AttentionGradient', inputs, { ...node.attributes, places }, types);
}

/** The result and the gradient, by tiles and by products. */
async function expectBoth(result: Value): Promise<void> {
  const node = result.node as Node<'Attention'>;
  for (const family of [attentionsByTiles, attentionsByProducts()]) {
    await expectAsOnCpu(node, family.Attention, { tolerance: 5e-6 });
    await expectAsOnCpu(gradientOf(node), family.AttentionGradient, { tolerance: 5e-6, isJoint: true });
  }
}

const numbersOf = (shape: readonly number[]) =>
  tensor(
    fill(shape, 5).map((one) => (one > 0.7 ? -Infinity : one)),
    shape,
  ).value;

/** Sizes around tiles: heads, queries, keys, elements of a query and of a value. */
describe.each([
  [[1], 1, 1, 1, 1],
  [[2], 5, 7, 3, 20],
  [[2, 2], 70, 130, 16, 16],
  [[1], 40, 33, 150, 33],
  [[1], 20, 18, 40, 300],
])('batch %j, %i queries, %i keys, sizes %i and %i', (batch, queries, keys, size, valueSize) => {
  const inputs = {
    ...{ query: value([...batch, queries, size], 1), key: value([...batch, keys, size], 2) },
    ...{ value: value([...batch, keys, valueSize], 3), scale },
  };
  test.each([false, true])('without a mask, causal %s', async (isCausal) => {
    await expectBoth(attention(inputs, isCausal));
  });

  test('with masks', async () => {
    const flags = tensor(
      Array.from(fill([queries, keys], 5), (one) => one > 0),
      [queries, keys],
    ).value;
    expect(flags.dtype).toBe('bool');
    await expectBoth(attention({ ...inputs, mask: flags }, false));
    await expectBoth(attention({ ...inputs, mask: numbersOf([...batch, 1, keys]) }, true));
  });

  test('with dropout', async () => {
    const numbers = tensor(BigInt64Array.of(77n, 0xb333_3333n)).value;
    const dropout = [numbers, tensor(Float32Array.of(1 / 0.7), []).value] as const;
    await expectBoth(attention({ ...inputs, dropout }, true));
  });
});

test('queries that attend to no key, and NaN', async () => {
  const [query, key] = [fill([3, 4], 1), fill([5, 4], 2)];
  query[1] = NaN;
  key[9] = Infinity;
  const flags = tensor(
    Array.from({ length: 15 }, (_, place) => place < 10),
    [3, 5],
  ).value;
  const arrays = { query: tensor(query, [3, 4]).value, key: tensor(key, [5, 4]).value };
  await expectBoth(attention({ ...arrays, value: value([5, 2], 3), scale, mask: flags }, false));
  await expectBoth(attention({ ...arrays, value: value([5, 2], 3), scale }, false));
});

/** Attention of heads that are parts of one array [batch, tokens, 3·heads·size]. */
function inOneArray(
  [batch, heads, length, size]: readonly [number, number, number, number],
  dtype: 'float32' | 'bfloat16',
): Node<'Attention'> {
  const width = 3 * heads * size;
  const array = value([batch, length, width], 1);
  const places: AttentionPlaces = {
    batch: [batch, heads],
    lengths: [length, length],
    sizes: [size, size],
    operands: [0, 1, 2].map((part) => ({
      first: part * heads * size,
      strides: [length * width, size, width],
    })),
    result: { first: 0, strides: [length * heads * size, size, heads * size] },
    targets: [0, 0, 0],
  };
  const operand = cast(array, dtype);
  return createNode(
    'Attention',
    [operand, operand, operand, scale],
    { isCausal: true, hasMask: false, drops: false, places },
    [
      { dtype, shape: [batch, length, heads * size] },
      { dtype: 'float32', shape: [batch * heads, 2, length] },
    ],
  );
}

describe.each([
  ['tiles', attentionsByTiles],
  ['products', attentionsByProducts()],
  // One head has 4·5·8 bytes of scores.
  ['products of one head at a time', attentionsByProducts(1)],
  ['products of two heads at a time', attentionsByProducts(2 * 160)],
])('by %s', (_, family) => {
  test('heads that are parts of one array receive their gradients there', async () => {
    const node = inOneArray([2, 3, 5, 4], 'float32');
    await expectAsOnCpu(node, family.Attention);
    await expectAsOnCpu(gradientOf(node), family.AttentionGradient);
  });
});

describe('bfloat16', () => {
  /** The node with the same numbers in float32. */
  const widenedNode = ({ inputs, attributes, outputs }: Node<'Attention'>) =>
    createNode('Attention', inputs.map(widened), attributes, outputs.map(inFloat32));

  // Products round the weights before they multiply values, and the gradients of scores before they multiply queries and keys,
  // each by at most 2⁻⁹ of a term, and then the result. Values are positive, because sums of both signs may be much smaller than the
  // rounding of their terms. The CPU computes the gradient from the rounded result, so it is compared in float32.
  const expectNear = async (node: Node<'Attention'>, family: typeof attentions) => {
    const wide = widenedNode(node);
    const tolerance = 2 ** -8;
    await expectAsOnCpu(node, family.Attention, { tolerance, reference: wide });
    const reference = gradientOf(wide);
    await expectAsOnCpu(gradientOf(node), family.AttentionGradient, { tolerance, isJoint: true, reference });
  };

  test.each([
    [[2, 2], 24, 40, 16, 8, true],
    [[3], 20, 300, 8, 16, false],
    [[1], 3, 1027, 8, 8, false],
    [[1], 2, 600, 8, 8, true],
  ])(
    'batch %j, %i queries, %i keys, sizes %i and %i, causal %s',
    async (batch, queries, keys, size, valueSize, isCausal) => {
      const inputs = {
        ...{ query: narrow([...batch, queries, size], 1), key: narrow([...batch, keys, size], 2) },
        ...{ value: narrow([...batch, keys, valueSize], 3, 1.5), scale },
      };
      await expectNear(attention(inputs, isCausal).node as Node<'Attention'>, attentionsByProducts());
      const numbers = tensor(BigInt64Array.of(77n, 0xb333_3333n)).value;
      const dropout = [numbers, tensor(Float32Array.of(1 / 0.7), []).value] as const;
      const mask = numbersOf([...batch, 1, keys]);
      await expectNear(
        attention({ ...inputs, mask, dropout }, isCausal).node as Node<'Attention'>,
        attentionsByProducts(),
      );
    },
  );

  test.each([4, 8])('heads of %i elements that are parts of one array', async (size) => {
    await expectNear(inOneArray([2, 3, 5, size], 'bfloat16'), attentionsByProducts());
  });
});

test('heads that do not fit into shared memory have no kernel', () => {
  const nodeOf = (size: number) => {
    const x = value([1, size], 1);
    return attention({ query: x, key: x, value: x, scale }, false).node as Node<'Attention'>;
  };
  expect(limitOf(nodeOf(512))).toBeUndefined();
  expect(limitOf(nodeOf(513))).toBe('attention has heads of 513 elements, more than 512');
  expect(limitOf(gradientOf(nodeOf(513)))).toBe('attention has heads of 513 elements, more than 512');
});
