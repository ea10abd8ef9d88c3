// Texts of a file of JSON lines, classified by a bidirectional LSTM. Batches have one of two lengths.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { F, manualSeed, nn, optim, type Tensor } from '@ringrun/nn';
import { AUROC, Accuracy, EarlyStopping, JsonLinesLogger, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

const words = 'good great fine bad poor awful film plot cast the a not'.split(' ');

/** A text, and whether it has more good words (the first three) than bad ones (the next three). */
function line(i: number): string {
  const places = Array.from({ length: 4 + ((i * 7) % 13) }, (_, k) => (i * (k + 3) + k * k) % words.length);
  const balance = places.reduce((sum, place) => sum + Number(place < 3) - Number(place >= 3 && place < 6), 0);
  return JSON.stringify({ text: places.map((place) => words[place]).join(' '), label: Number(balance > 0) });
}

class Classifier extends nn.Module {
  readonly embedding: nn.Embedding;
  readonly lstm = new nn.LSTM(24, 24, { batchFirst: true, bidirectional: true });
  readonly out = new nn.Linear(48, 2);

  constructor(vocabulary: number) {
    super();
    this.embedding = new nn.Embedding(vocabulary, 24, { paddingIdx: 0 });
  }

  /** Padded tokens [N, L] to scores [N, 2] of the mean over the words. */
  forward(tokens: Tensor): Tensor {
    const isWord = tokens.ne(0).float().unsqueeze(-1);
    const [output] = this.lstm.forward(this.embedding.forward(tokens));
    const sum = output.mul(isWord).sum([1]);
    return this.out.forward(sum.div(isWord.sum([1])));
  }
}

await dist.initProcessGroup();
const folder = process.argv[2];
const path = join(folder, 'texts.jsonl');
if (dist.getRank() === 0) writeFileSync(path, Array.from({ length: 640 }, (_, i) => line(i)).join('\n'));
await dist.barrier();
// 0 is padding; the other numbers are words, in the order in which they first occur.
const vocabulary = new Map([['', 0n]]);
const numberOf = (word: string) => {
  if (!vocabulary.has(word)) vocabulary.set(word, BigInt(vocabulary.size));
  return vocabulary.get(word)!;
};
const texts = readFileSync(path, 'utf8')
  .split('\n')
  .map((one) => {
    const { text, label } = JSON.parse(one) as { text: string; label: number };
    return { tokens: BigInt64Array.from(text.split(' '), numberOf), label: BigInt(label) };
  });
manualSeed(1);
const model = new Classifier(vocabulary.size);
const part = (first: number, length: number) => ({ length, at: (i: number) => texts[first + i] });
const batches = { batchSize: 16, collateFn: dist.padTo([8, 16], { tokens: 0 }) };
const loaderOf = (dataset: ReturnType<typeof part>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { ...batches, sampler: new dist.DistributedSampler(dataset, options) });
const classes = { task: 'multiclass', numClasses: 2 } as const;
const logs = join(folder, 'metrics.jsonl');
const trainer = new Trainer({
  maxEpochs: 12,
  enableProgressBar: false,
  logger: new JsonLinesLogger({ path: logs }),
  hyperparameters: { lr: 0.01 },
  callbacks: [new EarlyStopping({ monitor: 'val/auroc', mode: 'max', patience: 3 })],
});
const { validation, epochs } = await trainer.fit(model, {
  trainLoader: loaderOf(part(0, 512), {}),
  validationLoader: loaderOf(part(512, 128), { shuffle: false, evenDivisible: false }),
  loss: F.crossEntropy,
  optimizer: new optim.Adam(model.parameters(), { lr: 1e-2 }),
  metrics: { accuracy: new Accuracy(classes), auroc: new AUROC(classes) },
});
const identical = await dist.verifyIdenticalParameters(model);
if (dist.getRank() === 0) console.log(JSON.stringify({ ...validation, epochs, logs, identical }));
await dist.destroyProcessGroup();
