// A GAN that learns a normal distribution in the plane. Its counterpart is gan.py.
import { manualSeed, nn, noGrad, ones, optim, randn, tensor, zeros } from '@ringrun/nn';
import type { Program } from './program.ts';

export function start(): Program {
  manualSeed(1);
  const generator = new nn.Sequential(new nn.Linear(8, 64), new nn.ReLU(), new nn.Linear(64, 2));
  const discriminator = new nn.Sequential(new nn.Linear(2, 64), new nn.LeakyReLU(0.2), new nn.Linear(64, 1));
  const ofG = new optim.Adam(generator.parameters(), { lr: 2e-3, betas: [0.5, 0.999] });
  const ofD = new optim.Adam(discriminator.parameters(), { lr: 2e-3, betas: [0.5, 0.999] });
  const bce = new nn.BCEWithLogitsLoss();
  const center = tensor([2, -1]);

  async function step() {
    const real = randn(128, 2).mul(0.5).add(center);
    const fake = generator.forward(randn(128, 8));

    ofD.zeroGrad();
    const lossD = bce
      .forward(discriminator.forward(real), ones(128, 1))
      .add(bce.forward(discriminator.forward(fake.detach()), zeros(128, 1)));
    await lossD.backward();
    await ofD.step();

    ofG.zeroGrad();
    const lossG = bce.forward(discriminator.forward(fake), ones(128, 1));
    await lossG.backward();
    await ofG.step();
    return (await lossD.item()) + (await lossG.item());
  }

  /** The distance of the mean of generated points to that of the real ones. */
  async function score() {
    const fake = noGrad(() => generator.forward(randn(512, 8)));
    return fake.mean(0).sub(center).norm().item();
  }

  return { step, score };
}
