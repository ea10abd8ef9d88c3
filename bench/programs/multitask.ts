// A model with three heads and losses, whose accuracy is read in each step. Its counterpart is multitask.py.
import { F, manualSeed, nn, optim, randn, tensor, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

class MultiTask extends nn.Module {
  body = new nn.Sequential(new nn.Linear(20, 96), new nn.ReLU(), new nn.Linear(96, 48), new nn.ReLU());
  kind = new nn.Linear(48, 5);
  box = new nn.Linear(48, 4);
  visible = new nn.Linear(48, 1);

  forward(x: Tensor): { kind: Tensor; box: Tensor; visible: Tensor } {
    const features = this.body.forward(x);
    return {
      kind: this.kind.forward(features),
      box: this.box.forward(features),
      visible: this.visible.forward(features).squeeze(1),
    };
  }
}

export function start(): Program {
  manualSeed(10);
  const model = new MultiTask();
  const optimizer = new optim.Adam(model.parameters(), { lr: 3e-3 });
  const weights = randn(20, 10);
  const bce = new nn.BCEWithLogitsLoss({ posWeight: tensor([2.5]) });
  let accuracy = 0;

  async function step() {
    const x = randn(64, 20);
    const known = x.matmul(weights);
    const [kinds, boxes] = [known.at([], [0, 5]).argmax(1), known.at([], [5, 9]).mul(0.3)];
    const visible = known.at([], 9).gt(0).float();
    optimizer.zeroGrad();
    const found = model.forward(x);
    const ofKind = F.crossEntropy(found.kind, kinds, { labelSmoothing: 0.05 });
    const ofBox = F.huberLoss(found.box, boxes);
    const ofVisible = bce.forward(found.visible, visible);
    const loss = ofKind.add(ofBox.mul(0.5)).add(ofVisible.mul(0.25));
    await loss.backward();
    await optimizer.step();
    accuracy = await found.kind.argmax(1).eq(kinds).float().mean().item();
    const parts = [await ofKind.item(), await ofBox.item(), await ofVisible.item()];
    return parts[0] + 0.5 * parts[1] + 0.25 * parts[2];
  }

  /** The share of wrong kinds in the last step. */
  const score = () => Promise.resolve(1 - accuracy);

  return { step, score };
}
