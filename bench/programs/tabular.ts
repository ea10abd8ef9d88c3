// Tabular data with a category, batch normalization, a scheduler and early stopping, which goes back to the best
// epoch. A step is an epoch. Its counterpart is tabular.py.
import { cat, F, manualSeed, nn, noGrad, optim, randint, randn, randperm, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

class Net extends nn.Module {
  city = new nn.Embedding(10, 4);
  layers = new nn.Sequential(
    new nn.Linear(10, 64, { bias: false }),
    new nn.BatchNorm1d(64),
    new nn.ReLU(),
    new nn.Linear(64, 64),
    new nn.ReLU(),
    new nn.Linear(64, 1),
  );

  forward(numbers: Tensor, city: Tensor): Tensor {
    return this.layers.forward(cat([numbers, this.city.forward(city)], 1)).squeeze(1);
  }
}

export function start(): Program {
  manualSeed(14);
  const model = new Net();
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
  const scheduler = new optim.lrScheduler.ReduceLROnPlateau(optimizer, { patience: 1, factor: 0.5 });
  const [numbers, city] = [randn(640, 6), randint(0, 10, [640])];
  const prices = numbers.at([], 0).mul(numbers.at([], 1)).add(city.float().mul(0.3));
  const train = [0, 512] as [number, number];
  const [valNumbers, valCity, valPrices] = [numbers, city, prices].map((x) => x.at([512, 640]));
  let [best, bestState, waited] = [Infinity, model.stateDict(), 0];

  async function step() {
    if (waited === 5) {
      model.loadStateDict(bestState);
      waited = 0;
    }
    model.train();
    let total = 0;
    for (const rows of randperm(512).split(128)) {
      optimizer.zeroGrad();
      const found = model.forward(numbers.at(train).at(rows), city.at(train).at(rows));
      const loss = F.mseLoss(found, prices.at(train).at(rows));
      await loss.backward();
      await optimizer.step();
      total += await loss.item();
    }
    model.eval();
    const valLoss = await noGrad(() => F.mseLoss(model.forward(valNumbers, valCity), valPrices)).item();
    scheduler.step(valLoss);
    waited = valLoss < best ? 0 : waited + 1;
    if (waited === 0) [best, bestState] = [valLoss, model.stateDict()];
    return total / 4;
  }

  /** The best validation loss. */
  const score = () => Promise.resolve(best);

  return { step, score };
}
