// A variational autoencoder: 8 numbers that 2 hidden ones determine. Its output is a list, and its target is its input.
import { F, manualSeed, nn, optim, randnLike, tensor, type Tensor } from '@ringrun/nn';
import { Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

class VAE extends nn.Module {
  readonly encoder = new nn.Sequential(new nn.Linear(8, 32), new nn.Tanh(), new nn.Linear(32, 4));
  readonly decoder = new nn.Sequential(new nn.Linear(2, 32), new nn.Tanh(), new nn.Linear(32, 8));

  forward(x: Tensor): [decoded: Tensor, mean: Tensor, logVariance: Tensor] {
    const [mean, logVariance] = this.encoder.forward(x).split(2, 1);
    const z = this.training ? mean.add(randnLike(mean).mul(logVariance.mul(0.5).exp())) : mean;
    return [this.decoder.forward(z), mean, logVariance];
  }
}

const points = (length: number, shift: number) => ({
  length,
  at: (i: number) => {
    const [a, b] = [Math.sin(i * 12.9 + shift), Math.cos(i * 78.2 + shift)];
    return { x: Float32Array.from({ length: 8 }, (_, j) => Math.sin(a * (j + 1)) + 0.5 * b * (j % 3)) };
  },
});

await dist.initProcessGroup();
manualSeed(1);
const model = new VAE();
manualSeed(10 + dist.getRank());
const [trainSet, testSet] = [points(1024, 0), points(201, 5)];
const loaderOf = (dataset: typeof trainSet, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 32, sampler: new dist.DistributedSampler(dataset, options) });

const evaluation = {
  inputs: ({ x }: { readonly x: { readonly data: Float32Array; readonly shape: readonly number[] } }) => {
    const given = tensor(x.data, [...x.shape]);
    return [given, given] as const;
  },
  loss: ([decoded, mean, logVariance]: ReturnType<VAE['forward']>, x: Tensor) => {
    const divergence = mean.square().add(logVariance.exp()).sub(logVariance).sub(1).sum(1).mean().div(2);
    return F.mseLoss(decoded, x).add(divergence.mul(0.002));
  },
};
const validationLoader = loaderOf(testSet, { shuffle: false, evenDivisible: false });
const trainer = new Trainer({ maxEpochs: 12, gradientClipVal: 5, enableProgressBar: false });
const before = await trainer.evaluate(model, { ...evaluation, loader: validationLoader });
const { validation } = await trainer.fit(model, {
  ...evaluation,
  trainLoader: loaderOf(trainSet, {}),
  validationLoader,
  optimizer: new optim.Adam(model.parameters(), { lr: 5e-3 }),
});
const identical = await dist.verifyIdenticalParameters(model);
if (dist.getRank() === 0)
  console.log(JSON.stringify({ losses: [before['loss'], validation!['loss']], identical }));
await dist.destroyProcessGroup();
