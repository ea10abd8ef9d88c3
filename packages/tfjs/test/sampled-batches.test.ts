import * as tf from '@tensorflow/tfjs';
import { DistributedSampler } from 'ringrun';
import { expect, test } from 'vitest';
import { sampledBatches } from '../src/index.ts';

const rows = (tensor: tf.Tensor) => [...tensor.dataSync()];

test("yields rows in the sampler's order, with a smaller last batch", () => {
  const xs = tf.tensor2d([0, 1, 10, 11, 20, 21, 30, 31], [4, 2]);
  const tensors = { xs, ys: [tf.tensor1d([0, 1, 2, 3], 'int32')] };
  const before = tf.memory().numTensors;
  const batches = [...sampledBatches(tensors, { sampler: [3, 0, 2], batchSize: 2 })];
  expect(batches.map((batch) => rows(batch.xs))).toEqual([
    [30, 31, 0, 1],
    [20, 21],
  ]);
  expect(batches.map((batch) => rows(batch.ys[0]))).toEqual([[3, 0], [2]]);
  tf.dispose(batches);
  expect(tf.memory().numTensors).toBe(before);
  expect([...sampledBatches(tensors, { sampler: [3, 0, 2], batchSize: 2, dropLast: true })]).toHaveLength(1);
});

test('starts an epoch of the sampler at the first batch, with a new order per epoch', () => {
  const xs = tf.range(0, 100);
  const sampler = new DistributedSampler(100, { numReplicas: 2, rank: 1 });
  const expected = [0, 1].map((epoch) => {
    const reference = new DistributedSampler(100, { numReplicas: 2, rank: 1 });
    reference.setEpoch(epoch);
    return [...reference];
  });
  // fitDataset creates one iterator that it does not use.
  void sampledBatches(xs, { sampler, batchSize: 50 });
  const epochs = [0, 1].map(() => [...sampledBatches(xs, { sampler, batchSize: 50 })].flatMap(rows));
  expect(epochs).toEqual(expected);
  expect(epochs[1]).not.toEqual(epochs[0]);
});

interface Refused {
  tensors: object;
  batchSize: number;
  sampler?: number[];
}

test.each<[string, Refused]>([
  ['batchSize must be a whole number from 1, got 0', { tensors: tf.ones([2]), batchSize: 0 }],
  [
    'tensors with the same number of samples, got 2, 3',
    { tensors: [tf.ones([2]), tf.ones([3])], batchSize: 1 },
  ],
  ['expected tensors with the same number of samples, got none', { tensors: {}, batchSize: 1 }],
  [
    'expected indices below 2, the number of samples, got 2',
    { tensors: tf.ones([2]), batchSize: 1, sampler: [2] },
  ],
])('is refused: %s', (message, { tensors, batchSize, sampler = [0] }) => {
  const first = () => sampledBatches(tensors, { sampler, batchSize }).next();
  expect(first).toThrow(message);
});
