import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterAll, expect, test } from 'vitest';
import { openStorage } from '../../runtime/src/storage/index.ts';
import { startS3, useS3 } from '../../runtime/test/support/s3.ts';
import { folder } from '../src/folder.ts';

const root = mkdtempSync(join(tmpdir(), 'ringrun-test-'));
afterAll(() => {
  rmSync(root, { recursive: true });
});

function createModel(): tf.Sequential {
  const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units: 3 })] });
  model.compile({ optimizer: tf.train.momentum(0.1, 0.9), loss: 'meanSquaredError' });
  return model;
}

const values = (model: tf.LayersModel) => model.getWeights().map((weight) => [...weight.dataSync()]);

test("restores a model's weights and its optimizer's state", async () => {
  const path = join(root, 'deep', 'model');
  const model = createModel();
  await model.trainOnBatch(tf.ones([4, 2]), tf.ones([4, 3]));
  await model.save(folder(path), { includeOptimizer: true });
  const loaded = await tf.loadLayersModel(folder(path));
  expect(values(loaded)).toEqual(values(model));
  const [iterations, ...moments] = await loaded.optimizer.getWeights();
  const [ownIterations, ...own] = await model.optimizer.getWeights();
  expect(await iterations.tensor.data()).toEqual(await ownIterations.tensor.data());
  const read = (tensors: typeof own) => Promise.all(tensors.map(({ tensor }) => tensor.data()));
  expect(await read(moments)).toEqual(await read(own));
});

test("writes TensorFlow.js's format, which tf.io.http reads", async () => {
  const path = join(root, 'format');
  const model = createModel();
  await model.save(folder(path));
  const fetchFunc = (url: string) =>
    Promise.resolve(new Response(readFileSync(join(path, url.slice('http://folder/'.length)))));
  const loaded = await tf.loadLayersModel(
    tf.io.http('http://folder/model.json', { fetchFunc: fetchFunc as typeof fetch }),
  );
  expect(values(loaded)).toEqual(values(model));
});

test('keeps the previous model until the next one is complete, then deletes it', async () => {
  const path = join(root, 'twice');
  const [first, second] = [createModel(), createModel()];
  await first.save(folder(path));
  const json = readFileSync(join(path, 'model.json'));
  await second.save(folder(path));
  expect(readdirSync(path)).toHaveLength(2);
  expect(values(await tf.loadLayersModel(folder(path)))).toEqual(values(second));
  // A save that was interrupted between its two files: the old json with additional weights.
  const left = join(root, 'left');
  await first.save(folder(left));
  writeFileSync(join(left, 'weights-0123456789abcdef.bin'), 'of the save that was killed');
  expect(readFileSync(join(left, 'model.json'))).toEqual(json);
  expect(values(await tf.loadLayersModel(folder(left)))).toEqual(values(first));
});

test('saves to a prefix of a bucket, and deletes the previous weights there only', async () => {
  useS3((await startS3('models')).port);
  const storage = openStorage('s3://models/runs/1');
  await openStorage('s3://models/runs/2').write(
    'weights-0123456789abcdef.bin',
    Buffer.from('of another run'),
  );
  const [first, second] = [createModel(), createModel()];
  await first.save(folder(storage));
  await second.save(folder(storage));
  const names = (await openStorage('s3://models').list()).map(({ name }) => name);
  expect(names).toEqual([
    'runs/1/model.json',
    expect.stringMatching(/^runs\/1\/weights-/),
    'runs/2/weights-0123456789abcdef.bin',
  ]);
  expect(values(await tf.loadLayersModel(folder(storage)))).toEqual(values(second));
});
