// Gradients of four batches in one step, clipping, and an exponential moving average of the weights.
import { F, manualSeed, nn, optim } from '@ringrun/nn';
import { Trainer, type Callback } from '@ringrun/train';
import * as dist from 'ringrun';

const net = () => new nn.Sequential(new nn.Linear(4, 64), new nn.ReLU(), new nn.Linear(64, 1));
const { AveragedModel, getEmaAvgFn } = optim.swaUtils;

/** Averages the weights after each optimizer step, and is part of the checkpoint. */
class MovingAverage implements Callback {
  readonly model = new AveragedModel(net(), { avgFn: getEmaAvgFn(0.9) });
  steps = 0;
  #averagedAt = 0;

  onTrainBatchEnd({ globalStep, modules }: Parameters<NonNullable<Callback['onTrainBatchEnd']>>[0]): void {
    if (globalStep === this.#averagedAt) return; // The batch was not the last of a step.
    this.#averagedAt = globalStep;
    this.steps += 1;
    this.model.updateParameters(modules['model']);
  }

  stateDict() {
    return this.model.stateDict();
  }

  loadStateDict(state: ReturnType<MovingAverage['stateDict']>): void {
    this.model.loadStateDict(state);
  }
}

/** A noisy paraboloid. */
const points = (length: number, shift: number, noise: number) => ({
  length,
  at: (i: number) => {
    const x = Float32Array.from({ length: 4 }, (_, j) => Math.sin((i + shift) * (j + 1) * 7.3));
    const y = x.reduce((sum, value, j) => sum + (j + 1) * value ** 2, 0);
    return { x, y: Float32Array.of(y / 4 + noise * Math.sin(i * 91.7)) };
  },
});

await dist.initProcessGroup();
manualSeed(1);
const model = net();
const average = new MovingAverage();
const loaderOf = (dataset: ReturnType<typeof points>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 8, sampler: new dist.DistributedSampler(dataset, options) });
const validationLoader = loaderOf(points(101, 5000, 0), { shuffle: false, evenDivisible: false });
const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
const trainLoader = loaderOf(points(528, 0, 0.5), {});
const trainer = new Trainer({
  maxEpochs: 8,
  accumulateGradBatches: 4,
  gradientClipVal: 1,
  enableProgressBar: false,
  callbacks: [average],
});
const loss = F.mseLoss;
const before = await trainer.evaluate(model, { loader: validationLoader, loss });
const { globalStep, validation } = await trainer.fit(model, {
  trainLoader,
  validationLoader,
  loss,
  optimizer,
});
const averaged = await trainer.evaluate(average.model.module, { loader: validationLoader, loss });
const losses = [before, validation!, averaged].map((one) => one['loss']);
const identical = await dist.verifyIdenticalParameters(average.model.module);
const steps = [globalStep, average.steps, 8 * Math.ceil(trainLoader.length / 4)];
if (dist.getRank() === 0) console.log(JSON.stringify({ losses, steps, identical }));
await dist.destroyProcessGroup();
