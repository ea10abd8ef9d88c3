// node launch --nproc 2 train.ts
import { F, nn, noGrad, optim, tensor, type Tensor } from '@ringrun/nn';
import * as dist from 'ringrun';

class Net extends nn.Module {
  layers = new nn.Sequential(
    new nn.Flatten(),
    new nn.Linear(784, 128),
    new nn.ReLU(),
    new nn.Linear(128, 10),
  );
  forward(images: Tensor): Tensor {
    return this.layers.forward(images);
  }
}

await dist.initProcessGroup();
const { location, title } = await dist.prepareMnist({ synthetic: process.argv.includes('--synthetic') });
const [trainSet, testSet] = await Promise.all(
  (['train', 'test'] as const).map((split) => dist.loadMnist({ split, location })),
);
const model = new dist.DistributedDataParallel(new Net());
const optimizer = new optim.Adam(model.module.parameters(), { lr: 0.001 });
const sampler = new dist.DistributedSampler(trainSet);
for await (const { image, label } of new dist.DataLoader(trainSet, { batchSize: 64, sampler })) {
  const loss = F.crossEntropy(model.forward(tensor(image.data, image.shape)), tensor(label.data));
  optimizer.zeroGrad();
  await loss.backward(); // averages the gradients over all ranks
  await optimizer.step();
}

const correct = new Float64Array(2); // of this rank's share: hits, images
const share = new dist.DistributedSampler(testSet, { shuffle: false, evenDivisible: false });
for await (const { image, label } of new dist.DataLoader(testSet, { batchSize: 500, sampler: share })) {
  const scores = await noGrad(() => model.module.forward(tensor(image.data, image.shape))).array();
  label.data.forEach((digit, i) => {
    const ofImage = [...scores.subarray(10 * i, 10 * i + 10)];
    correct[0] += Number(ofImage.every((score) => score <= ofImage[Number(digit)]));
    correct[1] += 1;
  });
}
await dist.allReduce(correct);
if (dist.getRank() === 0) console.log(`accuracy ${(correct[0] / correct[1]).toFixed(4)} on ${title}`);
await dist.destroyProcessGroup();
