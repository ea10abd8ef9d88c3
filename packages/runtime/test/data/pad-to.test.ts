import { describe, expect, expectTypeOf, test } from 'vitest';
import { DataLoader, padTo, type Batched, type Padded } from '../../src/data/index.ts';

const sentence = (length: number) => ({
  tokens: BigInt64Array.from({ length }, (_, index) => BigInt(index + 1)),
  labels: BigInt64Array.from({ length }, () => 7n),
  id: BigInt(length),
});

describe('padTo', () => {
  test('pads the named fields to the smallest length that holds all of a batch, with a mask', () => {
    const batch = padTo([2, 4, 8], { tokens: 0, labels: -100 })([sentence(3), sentence(1)]);
    expect(Object.keys(batch)).toEqual(['tokens', 'labels', 'id']);
    expect(batch.tokens.shape).toEqual([2, 4]);
    expect(batch.tokens.data).toEqual(BigInt64Array.of(1n, 2n, 3n, 0n, 1n, 0n, 0n, 0n));
    expect(batch.labels.data).toEqual(BigInt64Array.of(7n, 7n, 7n, -100n, 7n, -100n, -100n, -100n));
    expect(batch.labels.mask).toEqual({ data: Float32Array.of(1, 1, 1, 0, 1, 0, 0, 0), shape: [2, 4] });
    expect(batch.id).toEqual({ data: BigInt64Array.of(3n, 1n), shape: [2] });
  });

  test('pads all fields of a batch to one length', () => {
    const pair = (left: number, right: number) => ({
      left: new Float32Array(left).fill(1),
      right: new Float32Array(right).fill(1),
    });
    const batch = padTo([1, 2, 3], { left: 0, right: 0 })([pair(1, 2), pair(0, 1)]);
    expect([batch.left.shape, batch.right.shape]).toEqual([
      [2, 2],
      [2, 2],
    ]);
    expect([...batch.left.mask.data]).toEqual([1, 0, 0, 0]);
  });

  test('pads the first dimension of arrays with a shape and of tensors', () => {
    const frames = (length: number) => ({
      data: new Float32Array(2 * length).fill(length),
      shape: [length, 2],
    });
    const asTensor = ({ data, shape }: ReturnType<typeof frames>) => ({
      dtype: 'float32',
      shape,
      elements: () => data,
    });
    const expected = {
      data: Float32Array.of(1, 1, -1, -1, -1, -1, 2, 2, 2, 2, -1, -1),
      shape: [2, 3, 2],
      mask: { data: Float32Array.of(1, 0, 0, 1, 1, 0), shape: [2, 3] },
    };
    expect(padTo([3], -1)([frames(1), frames(2)])).toEqual(expected);
    expect(padTo([3], -1)([frames(1), frames(2)].map(asTensor))).toEqual(expected);
  });

  test('in a loader, 300 different lengths become 3, in the memory of earlier batches', async () => {
    const dataset = { length: 300, at: (index: number) => sentence(index + 1) };
    const collateFn = padTo([100, 200, 300], { tokens: 0, labels: -100 });
    const loader = new DataLoader(dataset, { batchSize: 4, shuffle: true, reuseMemory: true, collateFn });
    const lengths = new Set<number>();
    let sum = 0n;
    for await (const { tokens, id } of loader) {
      expectTypeOf(tokens).toEqualTypeOf<Padded<BigInt64Array<ArrayBuffer>>>();
      expectTypeOf(id).toEqualTypeOf<Batched<BigInt64Array>>();
      lengths.add(tokens.shape[1]);
      for (const token of tokens.data) sum += token;
      const ones = tokens.mask.data.reduce((count, one) => count + one);
      expect(ones).toBe(Number(id.data.reduce((count, one) => count + one)));
    }
    expect([...lengths].sort()).toEqual([100, 200, 300]);
    // The tokens of a sentence are 1 to its length.
    expect(sum).toBe(BigInt((300 * 301 * 302) / 6));
  });

  test('rejects longer sequences, other samples, values and lengths', () => {
    const collate = padTo([2, 4], { tokens: 0 });
    expect(() => collate([sentence(1), sentence(5)])).toThrow(
      'padTo: tokens: expected at most 4 elements, got 5 (sample 1). Crop the sequence in the dataset, or add a larger length.',
    );
    expect(() => collate([{ tokens: 3n }])).toThrow(
      'padTo: tokens: expected a typed array, { data, shape } or a tensor of at least 1 dimension, got a bigint (sample 0).',
    );
    expect(() => collate([Float32Array.of(1)])).toThrow(
      'padTo: expected samples with the fields tokens, got a Float32Array of 1 elements (sample 0).',
    );
    expect(() => padTo([2])([new Float32Array(1), new Float64Array(1)])).toThrow(
      'padTo: sample: expected a Float32Array of shape [any], as in sample 0 of the batch, got a Float64Array of shape [1] (sample 1).',
    );
    expect(() => padTo([2])([])).toThrow('padTo: a batch needs at least 1 sample, got 0.');
    expect(() => padTo([2], 0.5)([BigInt64Array.of(1n)])).toThrow(
      'padTo: sample: expected a padding value that a BigInt64Array can hold, got 0.5.',
    );
    expect(() => padTo([2], 256)([Uint8Array.of(1)])).toThrow(
      'a padding value that a Uint8Array can hold, got 256',
    );
    for (const lengths of [[], [0], [2, 2], [4, 2], [1.5]])
      expect(() => padTo(lengths)).toThrow(
        `padTo: expected lengths as ascending integers of at least 1, such as [32, 64, 128], got ${JSON.stringify(lengths)}.`,
      );
    expect(() => padTo([2], { tokens: 'a' } as never)).toThrow(
      'padTo: expected a padding value, or an object',
    );
  });
});
