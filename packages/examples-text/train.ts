// Classes of news texts (AG News): a bag of words or a transformer encoder, trained on every rank's share of the texts.
//
//   bag of words:  node launch --nproc 2 packages/examples-text/train.ts
//   transformer:   node launch --nproc 2 packages/examples-text/train.ts --model transformer
//
// Without --data, the 7,600 texts of AG News' test set are downloaded (1.9 MB). Without a network, use --data FILE, or
// --synthetic. Every fifth text is held back: the bag of words reaches an accuracy of 0.86 on them, the transformer 0.85.
// All options: node launch packages/examples-text/train.ts --help

import {
  classification,
  parseOptions,
  readText,
  run,
  textLocation,
  type SharedDefaults,
} from '@ringrun/examples-common';
import {
  BagOfWords,
  TextTransformer,
  parseNews,
  splitNews,
  syntheticNews,
  type Tokens,
} from '@ringrun/examples-text';
import { F, exportOnnx, optim } from '@ringrun/nn';
import { Command, Option } from 'commander';
import { padTo } from 'ringrun';

const agNews = 'https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv';
const shared: SharedDefaults<{ model: 'bag' | 'transformer'; data: string }> = {
  unit: 'texts',
  batch: { global: 32 },
  epochs: { help: '10, transformer: 2', of: ({ model }) => (model === 'bag' ? 10 : 2) },
  lr: { help: '0.005, transformer: 0.001', of: ({ model }) => (model === 'bag' ? 0.005 : 0.001) },
  logInterval: 100,
  savedModel: 'news.onnx',
};
const command = new Command('train.ts')
  .description('Trains a classifier of news texts')
  .addOption(new Option('--model <name>', 'model to train').choices(['bag', 'transformer']).default('bag'))
  .option('--data <location>', 'AG News, csv or csv.gz: a file or a URL', textLocation, agNews);
const settings = parseOptions(command, shared);

// Every batch has one of these lengths, so at most as many programs are compiled.
const lengths = [32, 48, 64, 96, 128];
const longest = lengths.at(-1)!;
const pad = padTo(lengths, { tokens: 0 });

await run(settings, async () => {
  const news = settings.synthetic ? syntheticNews() : parseNews(await readText(settings.data));
  const { train, heldBack, vocabSize, classes } = splitNews(news, longest);
  return {
    settings,
    defaults: shared,
    data: {
      trainSet: train,
      validationSet: heldBack,
      validationBatchSize: 64,
      collateFn: (samples: Tokens[]) => pad(samples),
    },
    createModel: () =>
      settings.model === 'bag'
        ? new BagOfWords(vocabSize, classes)
        : new TextTransformer(vocabSize, classes, { length: longest }),
    optimization: (model, rate) => ({ optimizer: new optim.Adam(model.parameters(), { lr: rate }) }),
    evaluation: classification(F.crossEntropy, classes),
    // Tokens without padding.
    rate: {
      unit: 'tokens',
      count: ({ tokens }) => tokens.data.reduce((count, token) => count + Number(token !== 0n), 0),
    },
    exported: (model) =>
      exportOnnx(model, {
        inputs: [
          { name: 'tokens', shape: [1, longest], dtype: 'int64', dynamicAxes: { 0: 'batch', 1: 'length' } },
        ],
        outputName: 'logits',
      }),
    summary: ({ accuracy }) =>
      `accuracy ${accuracy.toFixed(4)} on ${heldBack.length} texts that were held back`,
  };
});
