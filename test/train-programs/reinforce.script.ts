// REINFORCE: an agent pushes a cart left or right to keep it at 0. A batch is the number of an episode.
import { distributions, manualSeed, nn, noGrad, optim, tensor, type Tensor } from '@ringrun/nn';
import { SumMetric, Trainer, type Callback } from '@ringrun/train';
import * as dist from 'ringrun';

interface Episode {
  readonly states: number[][];
  readonly actions: number[];
  readonly rewards: number[];
}

/** Plays 24 steps from a place that depends on the episode. */
function play(policy: (state: Tensor) => Tensor, episode: number): Episode {
  let [place, speed] = [Math.sin(episode * 12.9), 0];
  const played: Episode = { states: [], actions: [], rewards: [] };
  for (let t = 0; t < 24; t += 1) {
    const state = [place, speed];
    const logits = noGrad(() => policy(tensor([state], { dtype: 'float32' })));
    const action = new distributions.Categorical({ logits }).sample().itemSync();
    speed = 0.8 * speed + 0.1 * (2 * action - 1);
    place += speed;
    played.states.push(state);
    played.actions.push(action);
    played.rewards.push(-Math.abs(place));
  }
  return played;
}

/** The discounted sums of later rewards, minus their mean, divided by their deviation. */
function advantagesOf(rewards: readonly number[]): Tensor {
  const sumFrom = (at: number) => rewards.slice(at).reduce((sum, reward, k) => sum + 0.9 ** k * reward, 0);
  const returns = tensor(
    rewards.map((_, at) => sumFrom(at)),
    { dtype: 'float32' },
  );
  return returns.sub(returns.mean()).div(returns.std().add(1e-6));
}

await dist.initProcessGroup();
manualSeed(15);
const policy = new nn.Sequential(new nn.Linear(2, 32), new nn.Tanh(), new nn.Linear(32, 2));
manualSeed(20 + dist.getRank());
// Each rank plays episodes of its own; DistributedDataParallel averages the gradients.
const episodes = Array.from({ length: 100 }, (_, i) => i * dist.getWorldSize() + dist.getRank());
const distances: number[] = [];
let [distance, plays] = [new SumMetric(), new SumMetric()];
const everyEpoch: Callback = {
  onEpochEnd: async () => {
    distances.push((await distance.compute()) / (await plays.compute()));
    [distance, plays] = [new SumMetric(), new SumMetric()];
  },
};
await new Trainer({ maxEpochs: 3, enableProgressBar: false, callbacks: [everyEpoch] }).fit(policy, {
  trainLoader: episodes,
  optimizer: new optim.Adam(policy.parameters(), { lr: 1e-2 }),
  trainingStep: async (episode, { model, optimizers }) => {
    const { states, actions, rewards } = play((state) => policy.forward(state), episode);
    const chosen = new distributions.Categorical({
      logits: model.forward(tensor(states, { dtype: 'float32' })),
    });
    const loss = chosen.logProb(tensor(actions)).mul(advantagesOf(rewards)).sum().neg();
    optimizers['optimizer'].zeroGrad();
    await loss.backward();
    await optimizers['optimizer'].step();
    await distance.update(-rewards.reduce((sum, reward) => sum + reward, 0));
    await plays.update(rewards.length);
    return loss;
  },
});
const identical = await dist.verifyIdenticalParameters(policy);
if (dist.getRank() === 0) console.log(JSON.stringify({ distances, identical }));
await dist.destroyProcessGroup();
