// One rank, as in test/golden/gpt_losses.py: `gpt.script.ts <folder>` writes its losses to <folder>/<rank>.json.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GPT, decayedApart, lossOf, warmupAndCosine } from '@ringrun/examples-gpt';
import { compileStep, manualSeed, optim, tensor, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

const steps = 50;
const batchSize = 6;
const shape = { vocabSize: 65, context: 64, layers: 4, heads: 4, width: 128 };

const [folder] = process.argv.slice(2);
await initProcessGroup();
manualSeed(1);
const model = new DistributedDataParallel(new GPT(shape));
const optimizer = new optim.AdamW(decayedApart(model.module), {
  lr: 1e-3,
  betas: [0.9, 0.99],
  weightDecay: 0.1,
});
const scheduler = new optim.lrScheduler.LambdaLR(optimizer, (step) => warmupAndCosine(step, steps, 10));
const trainStep = compileStep(
  optimizer,
  (tokens: Tensor, targets: Tensor) => lossOf(model, tokens, targets),
  {
    clipGradNorm: 1,
  },
);
const losses: number[] = [];
for (let step = 0; step < steps; step += 1) {
  const loss = await trainStep(...batch(step, getRank()));
  scheduler.step();
  losses.push(await loss.item());
}
writeFileSync(join(folder, `${getRank()}.json`), JSON.stringify(losses));
await destroyProcessGroup();

/** `batch` of bench/gpt/model.py. */
function batch(step: number, rank: number): [tokens: Tensor, targets: Tensor] {
  const { context, vocabSize } = shape;
  const seed = 2 * step + rank;
  const tokenAt = (place: number) =>
    BigInt((place * (7 + (seed % 5)) + seed * 31 + (Math.floor(place / 3) % 11)) % vocabSize);
  const windows = (shift: number) =>
    BigInt64Array.from({ length: batchSize * context }, (_, i) =>
      tokenAt(Math.floor(i / context) * (context + 1) + (i % context) + shift),
    );
  return [tensor(windows(0), [batchSize, context]), tensor(windows(1), [batchSize, context])];
}
