// A character-level GPT (nanoGPT's configuration for a CPU), trained on 12 sequences of 64 characters per step and rank.
//
//   2 processes:  node launch --nproc 2 packages/examples-gpt/train.ts
//   checkpoints:  node launch --nproc 2 packages/examples-gpt/train.ts --output run   (add --resume to continue)
//   bfloat16:     node launch --nproc 2 packages/examples-gpt/train.ts --bf16
//   slow links:   node launch --nproc 2 packages/examples-gpt/train.ts --sync diloco --transport int8
//   sampling:     node launch packages/examples-gpt/train.ts --output run --resume --sample 500
//
// Without --data, tiny Shakespeare is downloaded (1.1 MB). Without a network, use --data FILE, or --synthetic.
// 2,000 steps on two ranks reach a validation loss of at most 1.88 per character.
// All options: node launch packages/examples-gpt/train.ts --help

import {
  integerFrom,
  parseOptions,
  readText,
  run,
  textLocation,
  type SharedDefaults,
} from '@ringrun/examples-common';
import {
  GPT,
  Windows,
  addSyncOptions,
  characterCorpus,
  decayedApart,
  sample,
  syncOf,
  syntheticText,
  tokenLoss,
  type SyncSettings,
  warmupAndCosine,
} from '@ringrun/examples-gpt';
import { exportOnnx, manualSeed, optim } from '@ringrun/nn';
import { Command, Option } from 'commander';

const shakespeare =
  'https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt';
type Own = Record<'steps' | 'context' | 'layers' | 'heads' | 'width' | 'sample', number> & {
  data: string;
} & SyncSettings;
const shared: SharedDefaults<Own> = {
  unit: 'sequences',
  batch: { perRank: 12 },
  epochs: { help: 'none, but --steps steps', of: () => 0 },
  lr: 0.001,
  logInterval: 100,
  checkpointInterval: 500,
  savedModel: 'gpt.onnx',
};
const command = new Command('train.ts')
  .description('Trains a character-level GPT')
  .option('--data <location>', 'text, or text.gz: a file or a URL', textLocation, shakespeare)
  .addOption(
    new Option('--steps <n>', 'training steps, with sequences from anywhere in the text')
      .argParser(integerFrom(1))
      .default(2000)
      .conflicts('epochs'),
  )
  .option('--context <n>', 'characters of a sequence', integerFrom(1), 64)
  .option('--layers <n>', 'blocks of the model', integerFrom(1), 4)
  .option('--heads <n>', 'attention heads of a block', integerFrom(1), 4)
  .option('--width <n>', 'size of a token in the model, a multiple of --heads', integerFrom(1), 128)
  .option('--sample <n>', 'after training, print n characters drawn from the model', integerFrom(0), 0);
addSyncOptions(command);

const settings = parseOptions(command, shared);
const { steps, epochs, context, seed, layers, heads, width } = settings;

await run(settings, async () => {
  const text = settings.synthetic ? syntheticText() : await readText(settings.data);
  const { characters, train, validation } = characterCorpus(text);
  const validationSet = new Windows(validation, context);
  const bySteps = epochs === 0;
  return {
    settings,
    defaults: shared,
    data: {
      trainSet: bySteps ? Windows.scattered(train, context) : new Windows(train, context),
      validationSet,
      validationBatchSize: 64,
      shuffle: !bySteps,
      loader: { reuseMemory: true },
    },
    createModel: () => new GPT({ vocabSize: characters.length, context, layers, heads, width }),
    optimization: (gpt, lr, { stepsPerEpoch }) => {
      const optimizer = new optim.AdamW(decayedApart(gpt), { lr, betas: [0.9, 0.99], weightDecay: 0.1 });
      const total = bySteps ? steps : stepsPerEpoch * epochs;
      const factor = (step: number) => warmupAndCosine(step, total);
      return { optimizer, scheduler: new optim.lrScheduler.LambdaLR(optimizer, factor) };
    },
    evaluation: { loss: tokenLoss },
    trainer: { gradientClipVal: 1, ...(bySteps && { maxSteps: steps }), ...syncOf(settings) },
    exported: (gpt) =>
      exportOnnx(gpt, {
        inputs: [
          { name: 'tokens', shape: [1, context], dtype: 'int64', dynamicAxes: { 0: 'batch', 1: 'length' } },
        ],
        outputName: 'logits',
      }),
    summary: ({ loss }) =>
      `validation loss ${loss.toFixed(4)} per character on ${validationSet.length * context} characters`,
    afterwards: async (gpt) => {
      if (settings.sample === 0) return;
      manualSeed(seed);
      console.log(await sample(gpt, characters, context, { length: settings.sample }));
    },
  };
});
