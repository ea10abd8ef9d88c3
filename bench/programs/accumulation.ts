// Gradient accumulation over four parts of a batch, clipping, and an exponential moving average. Its counterpart is
// accumulation.py.
import { F, manualSeed, nn, noGrad, optim, randn, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

const net = () => new nn.Sequential(new nn.Linear(16, 128), new nn.ReLU(), new nn.Linear(128, 4));

export function start(): Program {
  manualSeed(9);
  const model = net();
  const optimizer = new optim.AdamW(model.parameters(), { lr: 5e-3 });
  const scheduler = new optim.lrScheduler.CosineAnnealingLR(optimizer, 200);
  const teacher = new nn.Linear(16, 4);
  const [x, xVal] = [randn(512, 16), randn(128, 16)];
  const [y, yVal] = [x, xVal].map((inputs) => noGrad(() => teacher.forward(inputs.abs())));
  const averaged = new optim.swaUtils.AveragedModel(net(), { avgFn: optim.swaUtils.getEmaAvgFn(0.9) });
  let at = 0;

  async function step() {
    optimizer.zeroGrad();
    let total = 0;
    for (let part = 0; part < 4; part += 1) {
      const rows: [number, number] = [at, at + 32];
      at = (at + 32) % 512;
      const loss = F.mseLoss(model.forward(x.at(rows)), y.at(rows)).div(4);
      await loss.backward();
      total += await loss.item();
    }
    nn.utils.clipGradNorm(model.parameters(), 1);
    await optimizer.step();
    scheduler.step();
    averaged.updateParameters(model);
    return total;
  }

  /** The validation loss of the averaged model. */
  async function score() {
    return noGrad((): Tensor => F.mseLoss(averaged.forward(xVal), yVal)).item();
  }

  return { step, score };
}
