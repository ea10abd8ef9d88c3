import type * as tf from '@tensorflow/tfjs';
import { expect, expectTypeOf, test } from 'vitest';
import { averageMetrics, distribute, folder, modelCheckpoint, sampledBatches, shard } from '../src/index.ts';
import type { Engine, Optimizer, TfTensor, TfVariable } from '../src/tensorflow.ts';

// Tested by the compiler; only the last line runs.
test("declared interfaces match tf's types", () => {
  expectTypeOf<tf.Tensor>().toExtend<TfTensor>();
  expectTypeOf<tf.Variable>().toExtend<TfVariable>();
  expectTypeOf<keyof Optimizer>().toExtend<keyof tf.Optimizer>();
  expectTypeOf<keyof Engine>().toExtend<keyof ReturnType<typeof tf.engine>>();
  expectTypeOf(distribute<tf.AdamOptimizer>).returns.toEqualTypeOf<tf.AdamOptimizer>();
  expectTypeOf(shard<tf.data.Dataset<tf.Tensor>>).returns.toEqualTypeOf<tf.data.Dataset<tf.Tensor>>();

  const uncalled = async (tensorflow: typeof tf, model: tf.LayersModel, xs: tf.Tensor2D, ys: tf.Tensor2D) => {
    model.compile({ optimizer: distribute(tensorflow.train.sgd(0.1)), loss: 'meanSquaredError' });
    const callbacks = [averageMetrics(), modelCheckpoint(model, folder('runs'))];
    await model.fit(xs, ys, { callbacks });
    await model.fit(xs, ys, { callbacks: averageMetrics() });
    await model.fit(xs, ys, { callbacks: [averageMetrics(), tensorflow.callbacks.earlyStopping()] });
    const batches = () => sampledBatches({ xs, ys }, { sampler: [0], batchSize: 1 });
    await tensorflow.data.generator(batches).forEachAsync(({ xs: own }) => own.as2D(1, 1));
    await tensorflow.loadLayersModel(folder('runs'));
  };
  expect(uncalled).toBeTypeOf('function');
});
