// The CNN of Kubeflow's MNIST example, trained on every rank's share of the images.
//
//   1 process:    node launch packages/examples-mnist/train.ts
//   2 processes:  node launch --nproc 2 packages/examples-mnist/train.ts
//   by hand:      RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 node train.js   (and RANK=1 in another terminal)
//
// One epoch on real MNIST ends at an accuracy of 0.95 or more.

import { writeFile } from 'node:fs/promises';
import { Net } from '@ringrun/examples-mnist';
import { F, exportOnnx, manualSeed, optim, tensor } from '@ringrun/nn';
import {
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  allReduce,
  barrier,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  loadMnist,
  prepareMnist,
  verifyIdenticalParameters,
} from 'ringrun';
import { parseArguments } from './arguments.ts';

const options = parseArguments();
await initProcessGroup({ backend: options.backend });
const rank = getRank();
const worldSize = getWorldSize();
const log = (line: string) => {
  if (rank === 0) console.log(line);
};

const { location } = await prepareMnist({ location: options.data });
const trainSet = await loadMnist({ split: 'train', location });
const testSet = await loadMnist({ split: 'test', location });

manualSeed(options.seed);
const model = new DistributedDataParallel(new Net());
const { lr, momentum } = options;
const optimizer =
  options.optimizer === 'adam'
    ? new optim.Adam(model.module.parameters(), { lr })
    : new optim.SGD(model.module.parameters(), { lr, momentum });
const sampler = new DistributedSampler(trainSet, { seed: options.seed });
const trainLoader = new DataLoader(trainSet, { batchSize: options.batchSize, sampler });
// Every test image once: nothing is padded, and the ranks' shares differ by one image at most.
const testSampler = new DistributedSampler(testSet, { shuffle: false, evenDivisible: false });
const testLoader = new DataLoader(testSet, { batchSize: options.testBatchSize, sampler: testSampler });

let trainingSeconds = 0;
for (let epoch = 1; epoch <= options.epochs; epoch += 1) {
  sampler.setEpoch(epoch - 1);
  trainingSeconds += await timed(() => trainEpoch(epoch));
  const { loss, accuracy } = await evaluate();
  log(`\naccuracy=${accuracy.toFixed(4)}\tloss=${loss.toFixed(4)}\n`);
}
const imagesPerSecond = (options.epochs * trainSet.length) / trainingSeconds;
log(
  `${imagesPerSecond.toFixed(0)} images/s on ${worldSize} ranks (${trainingSeconds.toFixed(2)} s of training)`,
);
log(`parameters identical on ${worldSize} ranks: ${await verifyIdenticalParameters(model)}`);
if (options.saveModel !== undefined && rank === 0) {
  await writeFile(options.saveModel, exportOnnx(model.module, { inputShape: [1, 1, 28, 28] }));
  log(`model saved to ${options.saveModel}`);
}
await destroyProcessGroup();

async function trainEpoch(epoch: number): Promise<void> {
  let step = 0;
  for await (const { image, label } of trainLoader) {
    const output = model.forward(tensor(image.data, image.shape));
    const loss = F.nllLoss(output, tensor(label.data));
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    if (step % options.logInterval === 0) {
      const seen = step * options.batchSize * worldSize;
      const percent = Math.round((100 * step) / trainLoader.length);
      log(
        `Train Epoch: ${epoch} [${seen}/${trainSet.length} (${percent}%)]\tloss=${(await loss.item()).toFixed(4)}`,
      );
    }
    step += 1;
  }
}

/** Mean loss and share of right answers over all ranks' test images. */
async function evaluate(): Promise<{ loss: number; accuracy: number }> {
  const sums = new Float32Array(2);
  for await (const { image, label } of testLoader) {
    const output = await model.forward(tensor(image.data, image.shape)).array();
    for (const [row, digit] of label.data.entries()) {
      const scores = Array.from(output.subarray(10 * row, 10 * row + 10), Number);
      sums[0] -= scores[Number(digit)];
      sums[1] += Number(scores.indexOf(Math.max(...scores)) === Number(digit));
    }
  }
  await allReduce(sums);
  return { loss: sums[0] / testSet.length, accuracy: sums[1] / testSet.length };
}

/** Seconds until every rank has done the work. */
async function timed(work: () => Promise<void>): Promise<number> {
  await barrier();
  const start = performance.now();
  await work();
  await barrier();
  return (performance.now() - start) / 1000;
}
