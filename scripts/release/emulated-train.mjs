// Run by emulate.js: trains a line on every rank with TensorFlow.js, which needs no other binary, and reduces an array
// that is long enough for every thread of the addon.
import { distribute } from '@ringrun/tfjs';
import * as tf from '@tensorflow/tfjs';
import { allReduce, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

await initProcessGroup();
const rank = getRank();
const values = new Float32Array(1_000_000).fill(rank + 1);
await allReduce(values);

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });
model.compile({ optimizer: distribute(tf.train.sgd(0.1)), loss: 'meanSquaredError' });
const x = tf.tensor2d([rank, rank + 0.5], [2, 1]);
await model.fit(x, x.mul(2).add(1), { epochs: 20, batchSize: 2, verbose: 0 });
const weights = model.getWeights().map((weight) => weight.dataSync()[0]);

await destroyProcessGroup();
console.log(`${process.arch}: sum ${values[0]} ${values.at(-1)}, weights ${weights.join(' ')}`);
