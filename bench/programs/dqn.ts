// DQN with a target network and replay: an agent learns to keep a cart at 0. Its counterpart is dqn.py.
import { manualSeed, nn, noGrad, optim, rand, randint, tensor } from '@ringrun/nn';
import { Cart } from './cart.ts';
import type { Program } from './program.ts';

interface Transition {
  state: number[];
  action: number;
  reward: number;
  next: number[];
}

const qNetwork = () => new nn.Sequential(new nn.Linear(2, 64), new nn.ReLU(), new nn.Linear(64, 2));

export function start(): Program {
  manualSeed(5);
  const [online, target] = [qNetwork(), qNetwork()];
  target.loadStateDict(online.stateDict());
  const optimizer = new optim.Adam(online.parameters(), { lr: 2e-3 });
  const criterion = new nn.SmoothL1Loss();
  const cart = new Cart();
  const memory: Transition[] = [];
  let state = [0, 0];
  let steps = 0;

  const states = (rows: number[][]) => tensor(rows, { dtype: 'float32' });

  async function choose(state: number[]) {
    const epsilon = Math.max(0.05, 1 - steps / 150);
    if ((await rand(1).item()) < epsilon) return randint(0, 2, [1]).item();
    return noGrad(() => online.forward(states([state])).argmax(1)).item();
  }

  async function step() {
    if (steps % 24 === 0) state = cart.reset((await rand(1).item()) * 2 - 1);
    const action = await choose(state);
    const [next, reward] = cart.step(action);
    memory.push({ state, action, reward, next });
    state = next;
    if (steps % 20 === 0) target.loadStateDict(online.stateDict());
    steps += 1;

    const places = [...(await randint(0, memory.length, [64]).array())];
    const batch = places.map((place) => memory[Number(place)]);
    const actions = tensor(batch.map(({ action }) => action));
    const rewards = tensor(Float32Array.from(batch, ({ reward }) => reward));
    const best = noGrad(() => target.forward(states(batch.map(({ next }) => next))).max(1).values);
    const q = online.forward(states(batch.map(({ state }) => state)));
    const chosen = q.gather(1, actions.unsqueeze(1)).squeeze(1);
    const loss = criterion.forward(chosen, rewards.add(best.mul(0.9)));
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  /** The mean distance from 0 in the last 48 steps. */
  async function score() {
    const last = memory.slice(-48);
    return Promise.resolve(-last.reduce((sum, { reward }) => sum + reward, 0) / last.length);
  }

  return { step, score };
}
