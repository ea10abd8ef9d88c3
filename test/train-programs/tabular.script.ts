// A regression on a table with categories, with early stopping, the best model, and a rate that falls on a plateau.
import { join } from 'node:path';
import { F, cat, manualSeed, nn, optim, type Tensor } from '@ringrun/nn';
import { EarlyStopping, MeanSquaredError, ModelCheckpoint, R2Score, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

class TableNet extends nn.Module {
  readonly city = new nn.Embedding(5, 3);
  readonly layers = new nn.Sequential(new nn.Linear(6, 32), new nn.ReLU(), new nn.Linear(32, 1));

  forward(numbers: Tensor, cities: Tensor): Tensor {
    return this.layers.forward(cat([numbers, this.city.forward(cities)], 1));
  }
}

const rows = (length: number, shift: number) => ({
  length,
  at: (i: number) => {
    const numbers = Float32Array.from({ length: 3 }, (_, j) => Math.sin((i + shift) * (j + 1) * 7.3));
    const city = (i * 3 + shift) % 5;
    const noise = 0.05 * Math.sin(i * 91.7);
    const price = Float32Array.of(numbers[0] * 2 - numbers[1] ** 2 + city / 2 + noise);
    return { numbers, city: BigInt(city), price };
  },
});

await dist.initProcessGroup();
manualSeed(1);
const model = new TableNet();
const [trainSet, testSet] = [rows(400, 0), rows(97, 1000)];
const loaderOf = (dataset: typeof trainSet, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 20, sampler: new dist.DistributedSampler(dataset, options) });
const optimizer = new optim.Adam(model.parameters(), { lr: 0.02 });
const best = new ModelCheckpoint({ dir: join(process.argv[2], 'best'), monitor: 'val/rmse' });
/** A batch is { numbers, city, price }: two inputs of `forward`, and the target. */
const options = {
  loss: (output: Tensor, price: Tensor) => F.smoothL1Loss(output, price),
  metrics: { rmse: new MeanSquaredError({ squared: false }), r2: new R2Score() },
};
const validationLoader = loaderOf(testSet, { shuffle: false, evenDivisible: false });
const trainer = new Trainer({
  maxEpochs: 200,
  enableProgressBar: false,
  callbacks: [best, new EarlyStopping({ monitor: 'val/rmse', patience: 6, minDelta: 0.001 })],
});
const result = await trainer.fit(model, {
  ...options,
  trainLoader: loaderOf(trainSet, {}),
  validationLoader,
  optimizer,
  scheduler: new optim.lrScheduler.ReduceLROnPlateau(optimizer, { patience: 2 }),
});
await dist.barrier();
model.loadStateDict(await dist.loadSafetensors(best.bestModelPath!));
const found = await trainer.evaluate(model, { ...options, loader: validationLoader });
const identical = await dist.verifyIdenticalParameters(model);
const { epochs, stoppedEarly } = result;
const isBest = found['rmse'] === best.bestModelScore;
if (dist.getRank() === 0)
  console.log(JSON.stringify({ score: found['r2'], epochs, stoppedEarly, isBest, identical }));
await dist.destroyProcessGroup();
