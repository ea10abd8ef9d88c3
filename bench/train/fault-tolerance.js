// The cost of `faultTolerance: 'shrink'` while no rank dies, in one interleaved run:
//
//   node launch --nproc 2 bench/train/fault-tolerance.js [mnist|cifar|resnet18] [rounds]
//
// In each round the ranks train with and without it, in alternating order. Prints the images per second of each and the
// median of the rounds' ratios.
import { F, manualSeed, optim, tensor } from '@ringrun/nn';
import {
  DistributedDataParallel,
  allReduce,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from 'ringrun';
import { createModel, models, randomBatch } from './models.js';

const [name = 'mnist', rounds = '9'] = process.argv.slice(2);
const { shape } = models[name];
const steps = { mnist: 150, cifar: 150, resnet18: 6 }[name];
const batchSize = 64;
const { images, classes } = randomBatch(name, batchSize, 0);
const settings = ['none', 'shrink'];

/** Images per second of all ranks together. */
async function measure(faultTolerance) {
  await initProcessGroup();
  manualSeed(1);
  const ddp = new DistributedDataParallel(await createModel(name), { faultTolerance, verifyEvery: 0 });
  const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.001, momentum: 0.9 });
  await ddp.shareState({ optimizer });
  let since = 0;
  for (let step = -5; step < steps; step += 1) {
    if (step === 0) since = performance.now();
    optimizer.zeroGrad();
    const scores = ddp.forward(tensor(images, [batchSize, ...shape]));
    await F.crossEntropy(scores, tensor(classes)).backward();
    await optimizer.step();
  }
  const seconds = Float64Array.of((performance.now() - since) / 1000);
  await allReduce(seconds);
  const speed = (batchSize * steps * getWorldSize()) / (seconds[0] / getWorldSize());
  const isFirst = getRank() === 0;
  await destroyProcessGroup();
  return { speed, isFirst };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const speeds = { none: [], shrink: [] };
let isFirst = false;
for (let round = 0; round < Number(rounds); round += 1) {
  for (const one of round % 2 === 0 ? settings : settings.toReversed()) {
    const { speed, isFirst: isRank0 } = await measure(one);
    speeds[one].push(speed);
    isFirst = isRank0;
  }
}
if (isFirst) {
  const ratio = median(speeds.shrink.map((speed, i) => speed / speeds.none[i]));
  const [none, shrink] = settings.map((one) => Math.round(median(speeds[one])));
  console.log(
    `${name}: ${none} images/s without, ${shrink} images/s with faultTolerance 'shrink', ratio ${ratio.toFixed(3)}`,
  );
}
