import * as tf from '@tensorflow/tfjs';
import { expect, test } from 'vitest';
import { learningRateScaling } from '../src/index.ts';

const rateOf = (optimizer: tf.Optimizer) => (optimizer as unknown as { learningRate: number }).learningRate;

test('warms up linearly, once per optimizer, and keeps rates that are set later', async () => {
  const optimizer = tf.train.adam(0.1);
  const rates: number[] = [];
  for (let fit = 0; fit < 2; fit += 1) {
    const callback = learningRateScaling(optimizer, { factor: 3, warmupSteps: 4 });
    for (let batch = 0; batch < 4; batch += 1) {
      await callback.onBatchBegin!(batch);
      rates.push(rateOf(optimizer));
    }
  }
  const rising = ['0.100', '0.150', '0.200', '0.250'];
  expect(rates.map((rate) => rate.toFixed(3))).toEqual([...rising, '0.300', '0.300', '0.300', '0.300']);
  Object.assign(optimizer, { learningRate: 0.01 });
  await learningRateScaling(optimizer, { factor: 3, warmupSteps: 4 }).onBatchBegin!(0);
  expect(rateOf(optimizer)).toBe(0.01);
});

test("updates SGD's tensor of the rate for the next step", async () => {
  const weight = tf.variable(tf.scalar(0));
  const optimizer = tf.train.sgd(0.5);
  await learningRateScaling(optimizer, { factor: 4 }).onBatchBegin!(0);
  optimizer.minimize(() => weight.asScalar(), false, [weight]);
  expect(weight.dataSync()[0]).toBe(-2);
});

test.each([
  ['a number `learningRate`', {}, { factor: 2 }],
  ['got 0 and 0', tf.train.sgd(0.1), { factor: 0 }],
  ['got 2 and 1.5', tf.train.sgd(0.1), { factor: 2, warmupSteps: 1.5 }],
])('is refused: %s', (message, optimizer, options) => {
  expect(() => learningRateScaling(optimizer, options)).toThrow(message);
});
