// One rank of run.js: `ringrun.js <package> <batch> <rounds> <file>`. Rank 0 writes the milliseconds of each round to the file.
import { writeFileSync } from 'node:fs';
import { Net } from '@ringrun/examples-mnist';
import { createNet, loadTensorFlow } from '@ringrun/examples-mnist-tfjs';
import { registry } from '@ringrun/core';
import { F, optim, tensor } from '@ringrun/nn';
import { distribute } from '@ringrun/tfjs';
import { DistributedDataParallel, barrier, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

const [name, ...rest] = process.argv.slice(2);
const [batch, rounds] = rest.map(Number);
const file = rest[2];
const tf = await loadTensorFlow(name);

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

// The same network in @ringrun/nn.
const images = tensor(await xs.data(), [batch, 1, 28, 28]);
const classes = tensor(BigInt64Array.from(await ys.data(), BigInt));
const own = new DistributedDataParallel(new Net());
const ownOptimizer = new optim.SGD(own.module.parameters(), { lr: 0.01, momentum: 0.5 });

const steps = {
  alone: () => alone.trainOnBatch(xs, ys),
  distributed: () => distributed.trainOnBatch(xs, ys),
  async own() {
    const loss = F.nllLoss(own.forward(images), classes);
    ownOptimizer.zeroGrad();
    await loss.backward();
    await ownOptimizer.step();
    return loss.item();
  },
};

/** ringrun's sums so far, in milliseconds. */
const { activityTotals: totals } = registry;

/** Wall-clock and processor milliseconds of a step; the latter exclude other programs on the machine. */
const timed = async (step) => {
  await barrier();
  const [start, before] = [performance.now(), process.cpuUsage()];
  await step();
  const { user, system } = process.cpuUsage(before);
  return [performance.now() - start, (user + system) / 1000];
};

// Warm-up: compiles functions and programs, and allocates optimizer states and buckets.
const warmup = tf.getBackend() === 'cpu' ? 1 : 10;
const found = [];
for (let round = 0; round < warmup + rounds; round += 1) {
  // Alternates the order, so that no variant is always first.
  const order = Object.keys(steps);
  if (round % 2 === 1) order.reverse();
  const times = {};
  for (const name of order) {
    const before = { ...totals };
    const [whole, processor] = await timed(steps[name]);
    Object.assign(times, { [name]: whole, [`${name}Processor`]: processor });
    if (name !== 'distributed') continue;
    const [compute, waiting] = ['compute', 'waiting'].map((lane) => totals[lane] - before[lane]);
    Object.assign(times, { compute, waiting, overhead: minimized - compute - waiting });
  }
  found.push(times);
}
if (getRank() === 0) writeFileSync(file, JSON.stringify(found.slice(warmup)));
await destroyProcessGroup();
