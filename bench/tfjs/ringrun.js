// One rank of run.js: `ringrun.js <batch> <rounds> <file>`. Rank 0 writes the milliseconds of each round to the file.
import { writeFileSync } from 'node:fs';
import { createNet } from '@ringrun/examples-mnist-tfjs';
import { registry } from '@ringrun/core';
import { distribute } from '@ringrun/tfjs';
import * as tf from '@tensorflow/tfjs';
import { barrier, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

const [batch, rounds] = process.argv.slice(2, 4).map(Number);
const file = process.argv[4];

await initProcessGroup();
const xs = tf.randomUniform([batch, 28, 28, 1]);
const ys = tf.tensor2d(
  Array.from({ length: batch }, (_, i) => i % 10),
  [batch, 1],
);
const compiled = (optimizer) => {
  const model = createNet(tf);
  model.compile({ optimizer, loss: 'sparseCategoricalCrossentropy' });
  return model;
};
const momentum = () => tf.train.momentum(0.01, 0.5);
const alone = compiled(momentum());
const optimizer = momentum();
// A second model of this process, with its own variables.
const distributed = createNet(tf);
distribute(optimizer, { model: distributed });
// Times minimize, which contains everything that distribute adds: tf's gradients, the average and tf's update.
let minimized = 0;
const { minimize } = optimizer;
Object.defineProperty(optimizer, 'minimize', {
  value: (...args) => {
    const start = performance.now();
    const cost = minimize(...args);
    minimized = performance.now() - start;
    return cost;
  },
});
distributed.compile({ optimizer, loss: 'sparseCategoricalCrossentropy' });

/** ringrun's sums so far, in milliseconds. */
const { activityTotals: totals } = registry;

/** Wall-clock and processor milliseconds of a step; the latter exclude other programs on the machine. */
const timed = async (model) => {
  await barrier();
  const [start, before] = [performance.now(), process.cpuUsage()];
  await model.trainOnBatch(xs, ys);
  const { user, system } = process.cpuUsage(before);
  return [performance.now() - start, (user + system) / 1000];
};

const found = [];
for (let round = 0; round <= rounds; round += 1) {
  // The order alternates, so that neither is always first.
  const order = round % 2 === 0 ? ['alone', 'distributed'] : ['distributed', 'alone'];
  const times = {};
  for (const name of order) {
    const before = { ...totals };
    const [whole, processor] = await timed(name === 'alone' ? alone : distributed);
    Object.assign(times, { [name]: whole, [`${name}Processor`]: processor });
    if (name === 'alone') continue;
    const [compute, waiting] = ['compute', 'waiting'].map((lane) => totals[lane] - before[lane]);
    Object.assign(times, { compute, waiting, overhead: minimized - compute - waiting });
  }
  found.push(times);
}
// The first round is warm-up: it compiles functions and allocates optimizer states and buckets.
if (getRank() === 0) writeFileSync(file, JSON.stringify(found.slice(1)));
await destroyProcessGroup();
