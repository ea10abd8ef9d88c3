// Classes of news texts (AG News): a bag of words or a transformer encoder, trained on every rank's share of the texts.
//
//   bag of words:  node launch --nproc 2 packages/examples-text/train.ts
//   transformer:   node launch --nproc 2 packages/examples-text/train.ts --model transformer
//
// Without --data, the 7,600 texts of AG News' test set are downloaded (1.9 MB). Without a network, use --data FILE, or
// --synthetic. Every fifth text is held back: the bag of words reaches an accuracy of 0.86 on them, the transformer 0.85.
// All options: node launch packages/examples-text/train.ts --help

import {
  effectiveBatch,
  integerFrom,
  readText,
  textLocation,
  bf16Help,
  precisionOf,
} from '@ringrun/examples-common';
import {
  BagOfWords,
  TextTransformer,
  parseNews,
  splitNews,
  syntheticNews,
  type Texts,
} from '@ringrun/examples-text';
import { F, compileStep, manualSeed, noGrad, optim, tensor, type Tensor } from '@ringrun/nn';
import { Command, Option } from 'commander';
import * as dist from 'ringrun';

const agNews = 'https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv';
const command = new Command('train.ts')
  .description('Trains a classifier of news texts')
  .allowExcessArguments(false)
  .addOption(new Option('--model <name>', 'model to train').choices(['bag', 'transformer']).default('bag'))
  .option('--data <location>', 'AG News, csv or csv.gz: a file or a URL', textLocation, agNews)
  .addOption(new Option('--synthetic', 'train on synthetic texts').default(false).conflicts('data'))
  .option('--epochs <n>', 'number of epochs (default: 10, transformer: 2)', integerFrom(1))
  .option('--batch-size <n>', 'texts per step, summed over all ranks', integerFrom(1), 32)
  .option('--bf16', bf16Help, false)
  .option('--seed <n>', 'random seed for initial parameters and shuffling', integerFrom(0), 1);

interface Settings {
  model: 'bag' | 'transformer';
  data: string;
  synthetic: boolean;
  bf16: boolean;
  epochs?: number;
  batchSize: number;
  seed: number;
}
const settings = command.parse().opts<Settings>();
const isBag = settings.model === 'bag';
const epochs = settings.epochs ?? (isBag ? 10 : 2);

await dist.initProcessGroup();
const [rank, ranks] = [dist.getRank(), dist.getWorldSize()];
const log = (line: string) => {
  if (rank === 0) console.log(line);
};
const { perRank: batchSize } = effectiveBatch(
  { batchSize: undefined, globalBatchSize: settings.batchSize },
  ranks,
);
// Every batch has one of these lengths, so at most as many programs are compiled.
const lengths = [32, 48, 64, 96, 128];
const collateFn = dist.padTo(lengths, { tokens: 0 });
const news = settings.synthetic ? syntheticNews() : parseNews(await readText(settings.data));
const { train, heldBack, vocabSize, classes } = splitNews(news, lengths.at(-1)!);
const sampler = new dist.DistributedSampler(train, { seed: settings.seed });
const loader = new dist.DataLoader(train, { batchSize, sampler, collateFn });

manualSeed(settings.seed);
const model = new dist.DistributedDataParallel(
  isBag
    ? new BagOfWords(vocabSize, classes)
    : new TextTransformer(vocabSize, classes, { length: lengths.at(-1)! }),
);
const optimizer = new optim.Adam(model.parameters(), { lr: isBag ? 5e-3 : 1e-3 });
const step = compileStep(
  optimizer,
  (tokens: Tensor, labels: Tensor) => F.crossEntropy(model.forward(tokens), labels),
  precisionOf(settings),
);

const report = await dist.trainingReport({ samples: train.length, epochs, unit: 'texts', logInterval: 100 });
const [trained, began] = [new Float64Array(1), performance.now()];
for (let epoch = 0; epoch < epochs; epoch += 1) {
  sampler.setEpoch(epoch);
  for await (const { tokens, label } of report.epoch(epoch + 1, loader)) {
    const loss = await step(tensor(tokens.data, tokens.shape), tensor(label.data));
    await report.step({ loss, samples: label.data.length });
    trained[0] += wordsIn(tokens.data);
  }
}
await dist.allReduce(trained);
const seconds = (performance.now() - began) / 1000;
await report.end();
const counted = `${ranks} ${ranks === 1 ? 'rank' : 'ranks'}`;
log(`${(trained[0] / seconds).toFixed(0)} tokens/s on ${counted} (${seconds.toFixed(2)} s of training)`);
log(`parameters identical on ${counted}: ${await dist.verifyIdenticalParameters(model)}`);
const accuracy = await accuracyOn(heldBack);
log(`accuracy ${accuracy.toFixed(4)} on ${heldBack.length} texts that were held back`);
await dist.destroyProcessGroup();

/** The fraction of texts whose class is found; every rank computes its share. */
async function accuracyOn(texts: Texts): Promise<number> {
  const share = new dist.DistributedSampler(texts, { shuffle: false, evenDivisible: false });
  const right = new Float64Array(1);
  for await (const { tokens, label } of new dist.DataLoader(texts, {
    batchSize: 64,
    sampler: share,
    collateFn,
  })) {
    const scores = noGrad(() => model.module.forward(tensor(tokens.data, tokens.shape)));
    const found = (await scores.argmax(1).array()) as BigInt64Array;
    for (const [row, one] of label.data.entries()) right[0] += Number(found[row] === one);
  }
  await dist.allReduce(right);
  return right[0] / texts.length;
}

/** Tokens without padding. */
function wordsIn(tokens: BigInt64Array): number {
  return tokens.reduce((count, token) => count + Number(token !== 0n), 0);
}
