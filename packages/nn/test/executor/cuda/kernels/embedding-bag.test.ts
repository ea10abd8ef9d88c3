import { describe, expect, test } from 'vitest';
import { embeddingBags } from '../../../../src/executor/cuda/kernels/embedding-bag.ts';
import { createNode, type Node, type Value } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { embeddingBag } from '../../../../src/ops/own/embedding-bag.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu, onGpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;
const [count, width] = [11, 40];
const table = value([count, width], 1);

function integers(shape: readonly number[], of: (place: number) => number): Value {
  const length = shape.reduce((a, b) => a * b, 1);
  return tensor(
    BigInt64Array.from({ length }, (_, place) => BigInt(of(place))),
    shape,
  ).value;
}

const flat = { rows: integers([19], (place) => ((place * place) % count) - (place % 4 === 0 ? count : 0)) };
const offsets = tensor(BigInt64Array.of(0n, 3n, 3n, 10n, 19n)).value;

describe.each([
  ['rows with offsets', { ...flat, offsets }],
  ['rows of equal bags', { rows: integers([5, 6], (place) => (3 * place) % count) }],
])('%s', (_, bags) => {
  test.each(['sum', 'mean', 'max'] as const)('%s and its gradients agree with the CPU', async (mode) => {
    const weights = mode === 'sum' ? [undefined, value(bags.rows.shape, 2)] : [undefined];
    for (const paddingRow of [undefined, 4]) {
      for (const given of weights) {
        const node = embeddingBag({ ...bags, table, mode, paddingRow, weights: given })
          .node as Node<'EmbeddingBag'>;
        await expectAsOnCpu(node, embeddingBags.EmbeddingBag, { tolerance: mode === 'max' ? 0 : 2e-6 });
        const d = value(node.outputs[0].shape, 3);
        const inputs = [d, bags.rows, table, ...node.inputs.slice(2), ...node.outputs.slice(1)];
        const types = [table, ...(given ? [given] : [])];
        const gradient = createNode('EmbeddingBagGradient', inputs, node.attributes, types);
        await expectAsOnCpu(gradient, embeddingBags.EmbeddingBagGradient);
      }
    }
  });
});

test('offsets that do not increase, and rows that do not exist, fail the run', async () => {
  const wrong = tensor(BigInt64Array.of(0n, 5n, 3n)).value;
  const node = embeddingBag({ ...flat, offsets: wrong, table, mode: 'sum' }).node as Node<'EmbeddingBag'>;
  await expect(onGpu(node, embeddingBags.EmbeddingBag)).rejects.toThrow(
    'embeddingBag: expected increasing offsets from 0 to 19, got 5 at index 1',
  );
  const rows = integers([2, 2], (place) => 4 * place);
  const far = embeddingBag({ rows, table, mode: 'mean' }).node as Node<'EmbeddingBag'>;
  await expect(onGpu(far, embeddingBags.EmbeddingBag)).rejects.toThrow(
    'embeddingBag: expected rows from -11 to 10, got 12',
  );
});
