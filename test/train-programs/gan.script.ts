// A GAN that learns points around (2, 2): two models, two optimizers, and a step of its own.
import { F, manualSeed, nn, noGrad, ones, optim, randn, tensor, zeros, type Tensor } from '@ringrun/nn';
import { MeanMetric, Trainer, type Callback } from '@ringrun/train';
import * as dist from 'ringrun';

await dist.initProcessGroup();
manualSeed(1);
const generator = new nn.Sequential(new nn.Linear(4, 16), new nn.ReLU(), new nn.Linear(16, 2));
const discriminator = new nn.Sequential(new nn.Linear(2, 16), new nn.LeakyReLU(0.2), new nn.Linear(16, 1));
manualSeed(10 + dist.getRank());

const real = {
  length: 2048,
  at: (i: number) => ({ x: Float32Array.of(2 + Math.sin(i * 12.9) / 4, 2 + Math.cos(i * 78.2) / 4) }),
};
const sampler = new dist.DistributedSampler(real);
const bce = (scores: Tensor, target: Tensor) => F.binaryCrossEntropyWithLogits(scores, target);
const update = async (optimizer: optim.Optimizer, loss: Tensor) => {
  optimizer.zeroGrad();
  await loss.backward();
  await optimizer.step();
};
const adam = (model: nn.Module) => new optim.Adam(model.parameters(), { lr: 5e-3, betas: [0.5, 0.999] });

/** The mean of generated points, over all ranks. */
async function generated(): Promise<number> {
  const mean = new MeanMetric();
  await mean.update(noGrad(() => generator.forward(randn(256, 4))));
  return await mean.compute();
}
const means: number[] = [await generated()];
const record: Callback = { onEpochEnd: async () => void means.push(await generated()) };

await new Trainer({ maxEpochs: 8, enableProgressBar: false, callbacks: [record] }).fit(
  { generator, discriminator },
  {
    trainLoader: new dist.DataLoader(real, { batchSize: 32, sampler }),
    optimizer: { generator: adam(generator), discriminator: adam(discriminator) },
    trainingStep: async ({ x }, { model, optimizers }) => {
      const fake = model.generator.forward(randn(32, 4));
      const ofReal = bce(model.discriminator.forward(tensor(x.data, x.shape)), ones(32, 1));
      const lossD = ofReal.add(bce(model.discriminator.forward(fake.detach()), zeros(32, 1)));
      await update(optimizers['discriminator'], lossD);
      const lossG = bce(model.discriminator.forward(fake), ones(32, 1));
      await update(optimizers['generator'], lossG);
      return { generator: lossG, discriminator: lossD };
    },
  },
);
const identical = await dist.verifyIdenticalParameters(generator);
const distances = means.map((mean) => Math.abs(mean - 2));
if (dist.getRank() === 0) console.log(JSON.stringify({ distances, identical }));
await dist.destroyProcessGroup();
