// Classifies texts by a BERT whose adapters (LoRA) are trained.
//
//   2 processes:  node launch --nproc 2 packages/examples-finetune-text/train.ts
//   your own:     node launch --nproc 2 packages/examples-finetune-text/train.ts --model FOLDER_OR_NAME --data train.jsonl --test test.jsonl
//
// Each line of a file is { "text": "…", "label": 0 }. Without --model, a small BERT with random weights learns synthetic
// sentences, and all of its weights are trained: it reaches an accuracy of at least 0.95.
// All options: node launch packages/examples-finetune-text/train.ts --help

import {
  classification,
  integerFrom,
  outputFolder,
  parseOptions,
  run,
  trainedParameters,
  type SharedDefaults,
} from '@ringrun/examples-common';
import {
  readTexts,
  syntheticTexts,
  TextScores,
  Texts,
  wordTokens,
  type LabelledText,
} from '@ringrun/examples-finetune-text';
import { F, exportOnnx, optim, tensor, type Tensor } from '@ringrun/nn';
import {
  BertForSequenceClassification,
  fromPretrained,
  lora,
  saveAdapter,
  tokenizerFromPretrained,
} from '@ringrun/pretrained';
import { Command } from 'commander';
import { getRank } from 'ringrun';

interface Own extends Record<'rank' | 'maxLength', number> {
  model?: string;
  data?: string;
  test?: string;
  saveAdapter?: string;
}
const shared: SharedDefaults<Own> = {
  unit: 'texts',
  batch: { perRank: 8 },
  epochs: 6,
  lr: 1e-3,
  savedModel: 'texts.onnx',
};
const command = new Command('train.ts')
  .description('Fine-tunes a BERT with LoRA')
  .option('--model <name>', 'folder or name of a BERT (default: a small one with random weights)')
  .option('--data <file>', 'texts to train on, one JSON object per line (default: synthetic sentences)')
  .option('--test <file>', 'texts to test on (default: those of --data)')
  .option('--rank <n>', 'rank of the adapters', integerFrom(1), 8)
  .option('--max-length <n>', 'tokens of a text at most', integerFrom(2), 64)
  .option('--save-adapter <folder>', "write the adapter of --model in PEFT's format", outputFolder);
const settings = parseOptions(command, shared);

const synthetic = syntheticTexts();
const train = settings.data === undefined ? synthetic.train : await readTexts(settings.data);
const test = await testTexts();
const numLabels = 1 + [...train, ...test].reduce((most, { label }) => Math.max(most, label), 1);

await run(settings, async () => {
  const { createModel, encode, length } =
    settings.model === undefined ? small() : await pretrained(settings.model);
  return {
    settings,
    defaults: shared,
    data: {
      trainSet: new Texts(train),
      validationSet: new Texts(test),
      validationBatchSize: 32,
      collateFn: (samples: LabelledText[]) => samples,
    },
    createModel: async () => {
      const model = await createModel();
      if (getRank() === 0) console.log(trainedParameters(model));
      return model;
    },
    optimization: (model, lr) => ({ optimizer: new optim.AdamW(model.parameters(), { lr }) }),
    evaluation: {
      ...classification(F.crossEntropy, numLabels),
      inputs: (samples) => {
        const labels = BigInt64Array.from(samples, ({ label }) => BigInt(label));
        return [...encode(samples.map(({ text }) => text)), tensor(labels)];
      },
    },
    exported: (model) =>
      exportOnnx(new TextScores(model), {
        inputs: [
          { name: 'tokens', shape: [1, length], dtype: 'int64', dynamicAxes: { 0: 'batch', 1: 'length' } },
        ],
        outputName: 'logits',
      }),
    summary: ({ accuracy }) => `accuracy ${accuracy.toFixed(4)}`,
    afterwards: async (model) => {
      if (settings.saveAdapter !== undefined && settings.model !== undefined)
        await saveAdapter(model, settings.saveAdapter, { baseModel: settings.model });
    },
  };
});

async function testTexts(): Promise<LabelledText[]> {
  if (settings.test !== undefined) return await readTexts(settings.test);
  return settings.data === undefined ? synthetic.test : train;
}

/** A model, and its inputs for texts: numbers of the tokens, the mask of padding, and token types. */
interface Parts {
  readonly createModel: () => BertForSequenceClassification | Promise<BertForSequenceClassification>;
  readonly encode: (texts: readonly string[]) => readonly Tensor[];
  /** Tokens of a text at most. */
  readonly length: number;
}

async function pretrained(name: string): Promise<Parts> {
  const { rank, maxLength } = settings;
  const tokenizer = await tokenizerFromPretrained(name);
  return {
    createModel: async () => {
      const base = await fromPretrained(name, {
        model: BertForSequenceClassification,
        numLabels,
        ignoreMismatchedSizes: true,
      });
      return lora(base, { rank, alpha: 2 * rank, modulesToSave: ['classifier'], taskType: 'SEQ_CLS' });
    },
    encode: (texts) => {
      const { inputIds, attentionMask, tokenTypeIds } = tokenizer.encode(texts, {
        maxLength,
        padToMultipleOf: 16,
      });
      return [tensor(inputIds), tensor(attentionMask), tensor(tokenTypeIds)];
    },
    length: maxLength,
  };
}

/** A BERT that has learned nothing, so that all of its weights are trained. Its tokens are words. */
function small(): Parts {
  const vocabulary = [...new Set(train.flatMap(({ text }) => text.split(' ')))].sort();
  const words = Math.max(...train.map(({ text }) => text.split(' ').length));
  const length = Math.min(settings.maxLength, 1 + words);
  return {
    createModel: () =>
      new BertForSequenceClassification({
        vocab_size: vocabulary.length + 3,
        hidden_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        intermediate_size: 64,
        max_position_embeddings: length,
        id2label: Object.fromEntries(Array.from({ length: numLabels }, (_, i) => [i, `LABEL_${i}`])),
      }),
    encode: (texts) => {
      const ids = tensor(wordTokens(vocabulary, texts, length), [texts.length, length]);
      return [ids, ids.ne(0)];
    },
    length,
  };
}
