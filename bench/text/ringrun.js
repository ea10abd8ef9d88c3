// One rank of the training of packages/examples-text: `node launch … bench/text/ringrun.js MODE FILE`. MODE is
// float32 or bf16 (autocast), FILE the output of run.js. Prints the same lines as pytorch.py.
import { readFileSync } from 'node:fs';
import { BagOfWords, TextTransformer } from '@ringrun/examples-text';
import { F, compileStep, manualSeed, noGrad, optim, tensor } from '@ringrun/nn';
import * as dist from 'ringrun';
import { autocastOptions, peakMemory } from '../support.js';

const [mode, file] = process.argv.slice(2);
const task = JSON.parse(readFileSync(file, 'utf8'));
await dist.initProcessGroup();
const [rank, ranks] = [dist.getRank(), dist.getWorldSize()];
const textsOf = (texts) =>
  texts.map(([tokens, label]) => ({ tokens: BigInt64Array.from(tokens, BigInt), label: BigInt(label) }));
const datasetOf = (samples) => ({ length: samples.length, at: (index) => samples[index] });
const [train, heldBack] = [task.train, task.heldBack].map((texts) => datasetOf(textsOf(texts)));
const { vocabSize, classes, lengths, seed } = task;

manualSeed(seed);
const model = new dist.DistributedDataParallel(
  task.model === 'bag'
    ? new BagOfWords(vocabSize, classes)
    : new TextTransformer(vocabSize, classes, { length: lengths.at(-1) }),
);
const optimizer = new optim.Adam(model.parameters(), { lr: task.lr });
const lossOf = (tokens, labels) => F.crossEntropy(model.forward(tokens), labels);
const step = compileStep(optimizer, lossOf, autocastOptions(mode === 'bf16'));
const sampler = new dist.DistributedSampler(train, { seed });
const collateFn = dist.padTo(lengths, { tokens: 0 });
const loader = new dist.DataLoader(train, { batchSize: task.batchSize / ranks, sampler, collateFn });
let [tokenCount, began, used, resident] = [0, 0, undefined, 0];
for (let epoch = 0; epoch < task.epochs; epoch += 1) {
  sampler.setEpoch(epoch);
  if (epoch === 1) {
    await dist.barrier();
    [began, used] = [performance.now(), process.cpuUsage()];
    resident = process.memoryUsage.rss();
  }
  for await (const { tokens, label } of loader) {
    await step(tensor(tokens.data, tokens.shape), tensor(label.data));
    if (epoch > 0) tokenCount += tokens.mask.data.reduce((sum, one) => sum + one, 0);
  }
}
await dist.barrier();
const { user, system } = process.cpuUsage(used);
const seconds = (performance.now() - began) / 1000;
const growth = (process.memoryUsage.rss() - resident) / 2 ** 20;
const sums = Float64Array.of(tokenCount, (user + system) / 1e6, 0);
const share = new dist.DistributedSampler(heldBack, { shuffle: false, evenDivisible: false });
const shareLoader = new dist.DataLoader(heldBack, { batchSize: 64, sampler: share, collateFn });
for await (const { tokens, label } of shareLoader) {
  const scores = noGrad(() => model.module.forward(tensor(tokens.data, tokens.shape)));
  const found = await scores.argmax(1).array();
  sums[2] += label.data.reduce((sum, one, row) => sum + Number(one === found[row]), 0);
}
await dist.allReduce(sums);
if (rank === 0) {
  const [tokens, processorSeconds, right] = sums;
  const accuracy = right / heldBack.length;
  console.log(JSON.stringify({ tokens, seconds, processorSeconds, growth, accuracy, memory: peakMemory() }));
}
await dist.destroyProcessGroup();
