// Classifies texts by a BERT whose adapters (LoRA) are trained.
//
//   2 processes:  node launch --nproc 2 packages/examples-finetune-text/train.ts
//   your own:     node launch --nproc 2 packages/examples-finetune-text/train.ts --model FOLDER_OR_NAME --data train.jsonl --test test.jsonl
//
// Each line of a file is { "text": "…", "label": 0 }. Without --model, a small BERT with random weights learns synthetic
// sentences, and all of its weights are trained: it reaches an accuracy of at least 0.95.
// All options: node launch packages/examples-finetune-text/train.ts --help

import { integerFrom, outputFolder } from '@ringrun/examples-common';
import {
  readTexts,
  syntheticTexts,
  Texts,
  wordTokens,
  type LabelledText,
} from '@ringrun/examples-finetune-text';
import { F, manualSeed, optim, tensor, type Tensor } from '@ringrun/nn';
import {
  BertForSequenceClassification,
  fromPretrained,
  lora,
  saveAdapter,
  tokenizerFromPretrained,
} from '@ringrun/pretrained';
import { Accuracy, Trainer } from '@ringrun/train';
import { Command } from 'commander';
import * as dist from 'ringrun';

interface Settings extends Record<'epochs' | 'batchSize' | 'rank' | 'maxLength', number> {
  model?: string;
  data?: string;
  test?: string;
  lr?: number;
  saveAdapter?: string;
}

const settings = new Command('train.ts')
  .description('Fine-tunes a BERT with LoRA')
  .allowExcessArguments(false)
  .option('--model <name>', 'folder or name of a BERT (default: a small one with random weights)')
  .option('--data <file>', 'texts to train on, one JSON object per line (default: synthetic sentences)')
  .option('--test <file>', 'texts to test on (default: those of --data)')
  .option('--epochs <n>', 'passes over the texts', integerFrom(1), 6)
  .option('--batch-size <n>', 'texts per step and rank', integerFrom(1), 8)
  .option('--rank <n>', 'rank of the adapters', integerFrom(1), 8)
  .option('--max-length <n>', 'tokens of a text at most', integerFrom(2), 64)
  .option('--lr <rate>', 'learning rate (default: 0.001)', Number)
  .option('--save-adapter <folder>', "write the adapter in PEFT's format", outputFolder)
  .parse()
  .opts<Settings>();

await dist.initProcessGroup();
const rank = dist.getRank();
const synthetic = syntheticTexts();
const train = settings.data === undefined ? synthetic.train : await readTexts(settings.data);
const test = await testTexts();
const numLabels = 1 + [...train, ...test].reduce((most, { label }) => Math.max(most, label), 1);
manualSeed(1);
const { model, encode } = settings.model === undefined ? small() : await pretrained(settings.model);
const trained = model.parameters().filter(({ requiresGrad }) => requiresGrad);
const count = (parameters: typeof trained) => parameters.reduce((sum, { data }) => sum + data.length, 0);
if (rank === 0) console.log(`trains ${count(trained)} of ${count(model.parameters())} parameters`);
manualSeed(1 + rank);

const trainSet = new Texts(train);
const collateFn = (samples: readonly LabelledText[]) => samples;
const trainLoader = new dist.DataLoader(trainSet, {
  batchSize: settings.batchSize,
  sampler: new dist.DistributedSampler(trainSet, { seed: 1 }),
  collateFn,
});
const testSet = new Texts(test);
const testSampler = new dist.DistributedSampler(testSet, { shuffle: false, evenDivisible: false });
const validationLoader = new dist.DataLoader(testSet, { batchSize: 32, sampler: testSampler, collateFn });
const { validation } = await new Trainer({ maxEpochs: settings.epochs }).fit(model, {
  trainLoader,
  validationLoader,
  inputs: (samples) => {
    const labels = BigInt64Array.from(samples, ({ label }) => BigInt(label));
    return [...encode(samples.map(({ text }) => text)), tensor(labels)];
  },
  loss: F.crossEntropy,
  optimizer: new optim.AdamW(model.parameters(), { lr: settings.lr ?? 1e-3 }),
  metrics: { accuracy: new Accuracy({ task: 'multiclass', numClasses: numLabels }) },
});
if (rank === 0) {
  console.log(`accuracy ${(validation!['accuracy'] as number).toFixed(4)}`);
  if (settings.saveAdapter !== undefined && settings.model !== undefined)
    await saveAdapter(model, settings.saveAdapter, { baseModel: settings.model });
}
await dist.destroyProcessGroup();

async function testTexts(): Promise<LabelledText[]> {
  if (settings.test !== undefined) return await readTexts(settings.test);
  return settings.data === undefined ? synthetic.test : train;
}

/** Inputs of the model for texts: numbers of the tokens, the mask of padding, and token types. */
type Encode = (texts: readonly string[]) => readonly Tensor[];

async function pretrained(name: string): Promise<{ model: BertForSequenceClassification; encode: Encode }> {
  const base = await fromPretrained(name, {
    model: BertForSequenceClassification,
    numLabels,
    ignoreMismatchedSizes: true,
  });
  const tokenizer = await tokenizerFromPretrained(name);
  return {
    model: lora(base, {
      rank: settings.rank,
      alpha: 2 * settings.rank,
      modulesToSave: ['classifier'],
      taskType: 'SEQ_CLS',
    }),
    encode: (texts) => {
      const { inputIds, attentionMask, tokenTypeIds } = tokenizer.encode(texts, {
        maxLength: settings.maxLength,
        padToMultipleOf: 16,
      });
      return [tensor(inputIds), tensor(attentionMask), tensor(tokenTypeIds)];
    },
  };
}

/** A BERT that has learned nothing, so that all of its weights are trained. Its tokens are words. */
function small(): { model: BertForSequenceClassification; encode: Encode } {
  const vocabulary = [...new Set(train.flatMap(({ text }) => text.split(' ')))].sort();
  const length = Math.min(
    settings.maxLength,
    1 + Math.max(...train.map(({ text }) => text.split(' ').length)),
  );
  const model = new BertForSequenceClassification({
    vocab_size: vocabulary.length + 3,
    hidden_size: 32,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    intermediate_size: 64,
    max_position_embeddings: length,
    id2label: Object.fromEntries(Array.from({ length: numLabels }, (_, i) => [i, `LABEL_${i}`])),
  });
  return {
    model,
    encode: (texts) => {
      const ids = tensor(wordTokens(vocabulary, texts, length), [texts.length, length]);
      return [ids, ids.ne(0)];
    },
  };
}
