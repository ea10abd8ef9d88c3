// Continues a network that PyTorch trained: its encoder is frozen, and a new head learns other classes.
//
//   2 processes:  node launch --nproc 2 packages/examples-finetune/train.ts
//   unfrozen:     node launch --nproc 2 packages/examples-finetune/train.ts --unfreeze
//   a trace:      node launch --nproc 2 packages/examples-finetune/train.ts --profile trace.json
//
// The encoder was trained on the digits 0 to 4 (test/golden/finetune.py); the head learns 5 to 9. Without --data, MNIST
// is downloaded. Without a network, use --data FOLDER, or --synthetic. One epoch reaches an accuracy of at least 0.9 on
// MNIST. All options: node launch packages/examples-finetune/train.ts --help

import {
  classification,
  integerFrom,
  parseOptions,
  run,
  trainedParameters,
  type SharedDefaults,
} from '@ringrun/examples-common';
import { DigitClassifier, DigitsFrom } from '@ringrun/examples-finetune';
import { F, exportOnnx, optim } from '@ringrun/nn';
import { Command } from 'commander';
import { getRank, loadMnist, loadSafetensors, prepareMnist } from 'ringrun';

const shared: SharedDefaults<{ data?: string; images: number; unfreeze: boolean }> = {
  unit: 'images',
  batch: { global: 64 },
  epochs: 1,
  lr: 0.003,
  savedModel: 'digits.onnx',
};
const command = new Command('train.ts')
  .description('Fine-tunes a ResNet from PyTorch')
  .option('--data <location>', "folder or s3://bucket/prefix with MNIST's four files")
  .option('--images <n>', 'images of MNIST to search; about half of them are used', integerFrom(1), 60000)
  .option('--unfreeze', 'train the encoder too', false);
const settings = parseOptions(command, shared);
const weights = new URL('digits-0-to-4.safetensors', import.meta.url);

/** The trained encoder and a new head. */
async function createModel(): Promise<DigitClassifier> {
  const classifier = new DigitClassifier();
  const { unexpectedKeys } = classifier.encoder.loadStateDict(await loadSafetensors(weights), {
    keyMapping: (key) => (key.startsWith('fc.') ? undefined : key),
    strict: false,
  });
  classifier.encoder.requiresGrad(settings.unfreeze);
  if (getRank() === 0) {
    console.log(`not loaded: ${unexpectedKeys.join(', ')}`);
    console.log(trainedParameters(classifier));
  }
  return classifier;
}

await run(settings, async () => {
  const { location, title } = await prepareMnist({ location: settings.data, synthetic: settings.synthetic });
  return {
    settings,
    defaults: shared,
    data: {
      trainSet: new DigitsFrom(5, await loadMnist({ split: 'train', location }), settings.images),
      validationSet: new DigitsFrom(5, await loadMnist({ split: 'test', location })),
      validationBatchSize: 250,
      loader: { dropLast: true },
    },
    createModel,
    optimization: (model, lr) => ({ optimizer: new optim.Adam(model.parameters(), { lr }) }),
    evaluation: classification(F.crossEntropy, 5),
    exported: (model) => exportOnnx(model, { inputShape: [1, 1, 28, 28] }),
    summary: ({ accuracy }) => `accuracy ${accuracy.toFixed(4)} on the digits 5 to 9 of ${title}`,
  };
});
