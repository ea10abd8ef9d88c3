// A sweep: each step is a training of its own, with another width, rate and momentum. Its counterpart is sweep.py.
import { F, manualSeed, nn, optim, randn } from '@ringrun/nn';
import type { Program } from './program.ts';

const settings = [8, 16, 32].flatMap((width) =>
  [0.03, 0.1].flatMap((lr) => [0, 0.9].map((momentum) => ({ width, lr, momentum }))),
);

/** Trains with one setting. Resolves with the last loss. */
async function train({ width, lr, momentum }: (typeof settings)[number]): Promise<number> {
  manualSeed(12);
  const model = new nn.Sequential(new nn.Linear(8, width), new nn.ReLU(), new nn.Linear(width, 1));
  const optimizer = new optim.SGD(model.parameters(), { lr, momentum });
  const x = randn(64, 8);
  const y = x.abs().sum(1, true).sub(6);
  let last = Infinity;
  for (let epoch = 0; epoch < 25; epoch += 1) {
    optimizer.zeroGrad();
    const loss = F.mseLoss(model.forward(x), y);
    await loss.backward();
    await optimizer.step();
    last = await loss.item();
  }
  return last;
}

export function start(): Program {
  const losses: number[] = [];

  async function step() {
    const loss = await train(settings[losses.length % settings.length]);
    losses.push(loss);
    return loss;
  }

  /** The loss of the best setting. */
  const score = () => Promise.resolve(Math.min(...losses));

  return { step, score };
}
