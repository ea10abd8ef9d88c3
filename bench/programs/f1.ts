// DistributedDataParallel with the F1 score over all ranks, whose counts are all-reduced. Its counterpart is f1.py.
import { F, manualSeed, nn, optim, randn } from '@ringrun/nn';
import * as dist from 'ringrun';
import type { Program } from './program.ts';

export async function start(): Promise<Program> {
  await dist.initProcessGroup({ backend: 'gloo' });
  manualSeed(11);
  const net = new nn.Sequential(new nn.Linear(16, 64), new nn.ReLU(), new nn.Linear(64, 1));
  const model = new dist.DistributedDataParallel(net);
  const optimizer = new optim.Adam(model.parameters(), { lr: 5e-3 });
  const direction = randn(16);
  manualSeed(100 + dist.getRank());
  let f1 = 0;

  async function step() {
    const x = randn(64, 16);
    const isPositive = x.mv(direction).gt(2);
    optimizer.zeroGrad();
    const logits = model.forward(x).squeeze(1);
    const loss = F.binaryCrossEntropyWithLogits(logits, isPositive.float());
    await loss.backward();
    await optimizer.step();

    const isFound = logits.gt(0);
    const truePositives = isFound.logicalAnd(isPositive).sum();
    const counts = Float64Array.of(
      await truePositives.item(),
      await isFound.logicalAnd(isPositive.logicalNot()).sum().item(),
      await isFound.logicalNot().logicalAnd(isPositive).sum().item(),
    );
    await dist.allReduce(counts);
    const [tp, fp, fn] = counts;
    f1 = (2 * tp) / (2 * tp + fp + fn);
    return loss.item();
  }

  const score = () => Promise.resolve(1 - f1);

  return { step, score };
}
