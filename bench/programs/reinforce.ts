// REINFORCE: an agent learns to keep a cart at 0. A step is an episode. Its counterpart is reinforce.py.
import { distributions, manualSeed, nn, optim, rand, stack, tensor, type Tensor } from '@ringrun/nn';
import { Cart } from './cart.ts';
import type { Program } from './program.ts';

export function start(): Program {
  manualSeed(15);
  const policy = new nn.Sequential(new nn.Linear(2, 32), new nn.Tanh(), new nn.Linear(32, 2));
  const optimizer = new optim.Adam(policy.parameters(), { lr: 1e-2 });
  const cart = new Cart();
  const totals: number[] = [];

  async function step() {
    const logProbs: Tensor[] = [];
    const rewards: number[] = [];
    let state = cart.reset((await rand(1).item()) * 2 - 1);
    for (let t = 0; t < 24; t += 1) {
      const chosen = new distributions.Categorical({
        logits: policy.forward(tensor(state, { dtype: 'float32' })),
      });
      const action = chosen.sample();
      logProbs.push(chosen.logProb(action));
      const [next, reward] = cart.step(action.itemSync());
      state = next;
      rewards.push(reward);
    }
    const returns = rewards.map((_, t) =>
      rewards.slice(t).reduce((sum, reward, k) => sum + 0.9 ** k * reward, 0),
    );
    const values = tensor(returns, { dtype: 'float32' });
    const advantages = values.sub(values.mean()).div(values.std().add(1e-6));
    const loss = stack(logProbs).mul(advantages).sum().neg();
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    totals.push(rewards.reduce((sum, reward) => sum + reward, 0));
    return loss.item();
  }

  /** The mean distance from 0 in the last 20 episodes. */
  async function score() {
    const last = totals.slice(-20);
    return Promise.resolve(-last.reduce((sum, total) => sum + total, 0) / last.length / 24);
  }

  return { step, score };
}
