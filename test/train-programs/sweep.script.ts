// A sweep over widths and rates: a training each, with its log, on all ranks; the best one is trained longer.
import { join } from 'node:path';
import { F, manualSeed, nn, optim } from '@ringrun/nn';
import { CSVLogger, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

interface Setting {
  readonly width: number;
  readonly lr: number;
}
const settings: Setting[] = [4, 32].flatMap((width) => [0.001, 0.03].map((lr) => ({ width, lr })));

const points = (length: number, shift: number) => ({
  length,
  at: (i: number) => {
    const x = Float32Array.from({ length: 4 }, (_, j) => Math.sin((i + shift) * (j + 1) * 7.3));
    return { x, y: Float32Array.of(x.reduce((sum, value) => sum + Math.abs(value), -2)) };
  },
});
const loaderOf = (dataset: ReturnType<typeof points>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 32, sampler: new dist.DistributedSampler(dataset, options) });

/** Trains with a setting. The loss of the validation is the same on all ranks, and so is the best setting. */
async function train({ width, lr }: Setting, maxEpochs: number) {
  manualSeed(12);
  const model = new nn.Sequential(new nn.Linear(4, width), new nn.ReLU(), new nn.Linear(width, 1));
  const path = join(process.argv[2], `width-${width}-lr-${lr}.csv`);
  const trainer = new Trainer({
    maxEpochs,
    enableProgressBar: false,
    hyperparameters: { width, lr },
    logger: new CSVLogger({ path }),
  });
  const { validation } = await trainer.fit(model, {
    trainLoader: loaderOf(points(256, 0), {}),
    validationLoader: loaderOf(points(101, 5000), { shuffle: false, evenDivisible: false }),
    loss: F.mseLoss,
    optimizer: new optim.Adam(model.parameters(), { lr }),
  });
  return { model, width, lr, loss: validation!['loss'] as number, path };
}

await dist.initProcessGroup();
const runs: Awaited<ReturnType<typeof train>>[] = [];
for (const setting of settings) runs.push(await train(setting, 3));
const best = runs.reduce((least, run) => (run.loss < least.loss ? run : least));
const { model, loss } = await train(best, 15);
const identical = await dist.verifyIdenticalParameters(model);
const losses = runs.map((run) => run.loss);
const { width, lr, path } = best;
if (dist.getRank() === 0) console.log(JSON.stringify({ losses, best: { width, lr }, loss, path, identical }));
await dist.destroyProcessGroup();
