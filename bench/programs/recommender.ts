// A recommender: a matrix factorization with sparse gradients of its embeddings. Its counterpart is recommender.py.
import { F, manualSeed, nn, optim, randint, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

const [users, items] = [5000, 2000];

class Recommender extends nn.Module {
  user = new nn.Embedding(users, 32, { sparse: true });
  item = new nn.Embedding(items, 32, { sparse: true });
  bias = new nn.Embedding(items, 1, { sparse: true });

  forward(user: Tensor, item: Tensor): Tensor {
    const affinity = this.user.forward(user).mul(this.item.forward(item)).sum(1);
    return affinity.add(this.bias.forward(item).squeeze(1));
  }
}

export function start(): Program {
  manualSeed(13);
  const model = new Recommender();
  for (const { weight } of [model.user, model.item, model.bias]) nn.init.normal(weight, { std: 0.1 });
  const optimizer = new optim.SparseAdam(model.parameters(), { lr: 0.02 });
  // A part of all pairs, which returns, so that few steps learn them.
  const [ofUser, ofItem] = [randint(0, users, [2048]), randint(0, items, [2048])];
  const ratings = ofUser.remainder(3).eq(ofItem.remainder(3)).float();
  let at = 0;

  async function step() {
    const rows: [number, number] = [at, at + 512];
    at = (at + 512) % 2048;
    optimizer.zeroGrad();
    const scores = model.forward(ofUser.at(rows), ofItem.at(rows));
    const loss = F.binaryCrossEntropyWithLogits(scores, ratings.at(rows));
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  return { step };
}
