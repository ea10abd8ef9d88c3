// Continues a network that PyTorch trained: its encoder is frozen, and a new head learns other classes.
//
//   2 processes:  node launch --nproc 2 packages/examples-finetune/train.ts
//   unfrozen:     node launch --nproc 2 packages/examples-finetune/train.ts --unfreeze
//   a trace:      node launch --nproc 2 packages/examples-finetune/train.ts --profile trace.json
//
// The encoder was trained on the digits 0 to 4 (test/golden/finetune.py); the head learns 5 to 9. Without --data, MNIST
// is downloaded. Without a network, use --data FOLDER, or --synthetic. One epoch reaches an accuracy of at least 0.9 on
// MNIST. All options: node launch packages/examples-finetune/train.ts --help

import { effectiveBatch, integerFrom, outputFile, bf16Help, precisionOf } from '@ringrun/examples-common';
import { DigitClassifier, DigitsFrom } from '@ringrun/examples-finetune';
import { F, compileStep, manualSeed, noGrad, optim, tensor, type Tensor } from '@ringrun/nn';
import { Command, Option } from 'commander';
import * as dist from 'ringrun';

const command = new Command('train.ts')
  .description('Fine-tunes a ResNet from PyTorch')
  .allowExcessArguments(false)
  .option('--data <location>', "folder or s3://bucket/prefix with MNIST's four files")
  .addOption(new Option('--synthetic', 'train on synthetic digits').default(false).conflicts('data'))
  .option('--epochs <n>', 'passes over the images', integerFrom(1), 1)
  .option('--batch-size <n>', 'images per step, summed over all ranks', integerFrom(1), 64)
  .option('--images <n>', 'images of MNIST to search; about half of them are used', integerFrom(1), 60000)
  .option('--unfreeze', 'train the encoder too', false)
  .option('--bf16', bf16Help, false)
  .option('--profile <path>', 'write a trace of some steps', outputFile);

interface Settings extends Record<'epochs' | 'batchSize' | 'images', number> {
  data?: string;
  synthetic: boolean;
  unfreeze: boolean;
  bf16: boolean;
  profile?: string;
}
const settings = command.parse().opts<Settings>();
const weights = new URL('digits-0-to-4.safetensors', import.meta.url);

await dist.initProcessGroup();
const [rank, ranks] = [dist.getRank(), dist.getWorldSize()];
const log = (line: string) => {
  if (rank === 0) console.log(line);
};
const { perRank: batchSize } = effectiveBatch(
  { batchSize: undefined, globalBatchSize: settings.batchSize },
  ranks,
);
const { location, title } = await dist.prepareMnist({
  location: settings.data,
  synthetic: settings.synthetic,
});
const trainSet = new DigitsFrom(5, await dist.loadMnist({ split: 'train', location }), settings.images);
const testSet = new DigitsFrom(5, await dist.loadMnist({ split: 'test', location }));
const sampler = new dist.DistributedSampler(trainSet, { seed: 1 });
const loader = new dist.DataLoader(trainSet, { batchSize, sampler, dropLast: true });

manualSeed(1);
const classifier = new DigitClassifier();
const { unexpectedKeys } = classifier.encoder.loadStateDict(await dist.loadSafetensors(weights), {
  keyMapping: (key) => (key.startsWith('fc.') ? undefined : key),
  strict: false,
});
log(`not loaded: ${unexpectedKeys.join(', ')}`);
classifier.encoder.requiresGrad(settings.unfreeze);
const model = new dist.DistributedDataParallel(classifier.train());
const optimizer = new optim.Adam(model.parameters(), { lr: 3e-3 });
const trainStep = compileStep(
  optimizer,
  (images: Tensor, labels: Tensor) => F.crossEntropy(model.forward(images), labels),
  precisionOf(settings),
);
const trained = [...model.parameters()].filter(({ requiresGrad }) => requiresGrad);
const elements = (parameters: Iterable<{ data: Float32Array }>) =>
  [...parameters].reduce((sum, { data }) => sum + data.length, 0);
log(`trains ${elements(trained)} of ${elements(model.parameters())} parameters`);

const profiler =
  settings.profile === undefined
    ? undefined
    : await dist.profile({
        path: settings.profile,
        schedule: dist.schedule({ wait: 2, active: 3, repeat: 1 }),
      });
const report = await dist.trainingReport({
  samples: trainSet.length,
  epochs: settings.epochs,
  unit: 'images',
});
for (let epoch = 0; epoch < settings.epochs; epoch += 1) {
  sampler.setEpoch(epoch);
  for await (const { image, label } of report.epoch(epoch + 1, loader)) {
    const loss = await trainStep(tensor(image.data, image.shape), tensor(label.data));
    await report.step({ loss, samples: batchSize });
    profiler?.step();
  }
}
model.syncBuffers();
await profiler?.stop();
await report.end();
log(`parameters identical on all ranks: ${await dist.verifyIdenticalParameters(model)}`);
log(`accuracy ${(await accuracy()).toFixed(4)} on the digits 5 to 9 of ${title}`);
await dist.destroyProcessGroup();

/** On the test images, of which every rank computes its share. */
async function accuracy(): Promise<number> {
  classifier.eval();
  const share = new dist.DistributedSampler(testSet, { shuffle: false, evenDivisible: false });
  const sums = new Float64Array(2);
  for await (const { image, label } of new dist.DataLoader(testSet, { batchSize: 250, sampler: share })) {
    const scores = noGrad(() => classifier.forward(tensor(image.data, image.shape)));
    sums[0] += await scores.argmax(1).eq(tensor(label.data)).float().sum().item();
    sums[1] += label.data.length;
  }
  await dist.allReduce(sums);
  return sums[0] / sums[1];
}
