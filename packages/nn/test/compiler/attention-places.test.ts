import { expect, test } from 'vitest';
import { placeAttention } from '../../src/compiler/rewrites/attention-places.ts';
import { differentiate } from '../../src/compiler/differentiate.ts';
import type { Value } from '../../src/graph/node.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { F, nn, Parameter, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';

/** The operators of a step that move or join elements, and those of attention. */
function movesOf(loss: Tensor): string[] {
  const [placed] = placeAttention([loss.value]);
  const values: Value[] = [placed, ...differentiate(placed).values()];
  const moves = new Set(['Transpose', 'Split', 'Slice', 'Concat', 'Pad', 'Attention', 'AttentionGradient']);
  return topologicalOrder(values)
    .map(({ op }) => op as string)
    .filter((op) => moves.has(op));
}

const parameter = (...shape: number[]) => new Parameter(fill(shape, shape.length), shape);
const attention = ['Attention', 'AttentionGradient'];

test('heads of one layer are read and written in place', () => {
  const [n, length, heads, size] = [2, 5, 3, 4];
  const qkv = parameter(n, length, 3 * heads * size);
  const [query, key, value] = qkv
    .chunk(3, -1)
    .map((part) => part.view(n, length, heads, size).transpose(1, 2));
  const attended = F.scaledDotProductAttention(query, key, value, { isCausal: true });
  expect(movesOf(attended.transpose(1, 2).reshape(n, length, -1).exp().sum())).toEqual(attention);
});

test('a layer whose output has an axis for queries, keys and values', () => {
  const [n, length, heads, size] = [2, 5, 3, 4];
  const qkv = parameter(n, length, 3 * heads * size);
  const parts = qkv.view(n, length, 3, heads, size).permute(2, 0, 3, 1, 4);
  const [query, key, value] = [0, 1, 2].map((i) => parts.select(0, i));
  const attended = F.scaledDotProductAttention(query, key, value);
  expect(movesOf(attended.transpose(1, 2).flatten(2).exp().sum())).toEqual(attention);
});

test.each([true, false])('MultiheadAttention with batchFirst = %s', (batchFirst) => {
  const layer = new nn.MultiheadAttention(12, 3, { batchFirst });
  const x = parameter(2, 5, 12).exp();
  expect(movesOf(layer.forward(x).output.exp().sum()).filter((op) => op !== 'Transpose')).toEqual(attention);
  const moved = topologicalOrder(placeAttention([layer.forward(x).output.value])).filter(
    ({ op, outputs: [{ shape }] }) => op === 'Transpose' && shape.length > 2,
  );
  expect(moved).toEqual([]);
});

test('cross-attention: parts of the weights are split, activations are not', () => {
  const layer = new nn.MultiheadAttention(12, 3, { batchFirst: true });
  const moved = topologicalOrder(
    placeAttention([layer.forward(parameter(2, 5, 12), parameter(2, 7, 12)).output.value]),
  ).filter(({ op, outputs: [{ shape }] }) => (op === 'Transpose' || op === 'Split') && shape.length > 2);
  expect(moved).toEqual([]);
});

test('parts of an array that is not read completely keep their Split', () => {
  const qkv = parameter(2, 5, 12);
  const [query, key] = qkv.chunk(3, -1);
  const moves = movesOf(F.scaledDotProductAttention(query, key, key).exp().sum());
  expect(moves.filter((op) => op !== 'Concat' && op !== 'Pad')).toEqual(['Split', ...attention]);
});

test('a result that is read twice stays in its order', () => {
  const [query, key, value] = [1, 2, 3].map(() => parameter(2, 3, 5, 4));
  const attended = F.scaledDotProductAttention(query, key, value);
  const moves = movesOf(attended.transpose(1, 2).exp().sum().add(attended.exp().sum()));
  expect(moves.filter((op) => op === 'Transpose')).toHaveLength(2);
});
