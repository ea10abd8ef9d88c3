"""REINFORCE: an agent learns to keep a cart at 0. A step is an episode. Its counterpart is reinforce.ts."""

import torch
from torch import nn, optim
from torch.distributions import Categorical

from cart import Cart


def start():
    torch.manual_seed(15)
    policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    cart = Cart()
    totals = []

    def step():
        log_probs, rewards = [], []
        state = cart.reset(torch.rand(1).item() * 2 - 1)
        for _ in range(24):
            chosen = Categorical(logits=policy(torch.tensor(state, dtype=torch.float32)))
            action = chosen.sample()
            log_probs.append(chosen.log_prob(action))
            state, reward = cart.step(action.item())
            rewards.append(reward)
        returns = [sum(0.9**k * reward for k, reward in enumerate(rewards[t:])) for t in range(len(rewards))]
        values = torch.tensor(returns)
        advantages = (values - values.mean()) / (values.std() + 1e-6)
        loss = -(torch.stack(log_probs) * advantages).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals.append(sum(rewards))
        return loss.item()

    def score():
        last = totals[-20:]
        return -sum(last) / len(last) / 24

    return step, score
