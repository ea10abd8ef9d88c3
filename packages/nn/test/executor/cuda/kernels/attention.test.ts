import { describe, expect, test } from 'vitest';
import { attentions } from '../../../../src/executor/cuda/kernels/attention.ts';
import { limitOf } from '../../../../src/executor/cuda/kernels/index.ts';
import type { AttentionPlaces } from '../../../../src/graph/attributes.ts';
import { createNode, type Node, type Value } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { attention, placesOf } from '../../../../src/ops/own/attention.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;
const scale = tensor(Float32Array.of(0.3), []).value;

function gradientOf(node: Node<'Attention'>): Node<'AttentionGradient'> {
  const places = placesOf(node);
  const d = value(node.outputs[0].shape, 9);
  const firsts = [...new Set(places.targets)].map((target) => places.targets.indexOf(target));
  const types = firsts.map((operand) => node.inputs[operand]);
  const inputs = [d, ...node.outputs, ...node.inputs];
  return createNode('AttentionGradient', inputs, { ...node.attributes, places }, types);
}

async function expectBoth(result: Value): Promise<void> {
  const node = result.node as Node<'Attention'>;
  await expectAsOnCpu(node, attentions.Attention, { tolerance: 5e-6 });
  await expectAsOnCpu(gradientOf(node), attentions.AttentionGradient, { tolerance: 5e-6, isJoint: true });
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

test('heads that are parts of one array receive their gradients there', async () => {
  const [batch, heads, length, size] = [2, 3, 5, 4];
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
  const node = createNode(
    'Attention',
    [array, array, array, scale],
    { isCausal: true, hasMask: false, drops: false, places },
    [
      { dtype: 'float32', shape: [batch, length, heads * size] },
      { dtype: 'float32', shape: [batch * heads, 2, length] },
    ],
  );
  await expectAsOnCpu(node, attentions.Attention);
  await expectAsOnCpu(gradientOf(node), attentions.AttentionGradient);
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
