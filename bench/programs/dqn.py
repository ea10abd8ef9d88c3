"""DQN with a target network and replay: an agent learns to keep a cart at 0. Its counterpart is dqn.ts."""

import torch
from torch import nn, optim

from cart import Cart


def q_network():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 2))


def start():
    torch.manual_seed(5)
    online, target = q_network(), q_network()
    target.load_state_dict(online.state_dict())
    optimizer = optim.Adam(online.parameters(), lr=2e-3)
    criterion = nn.SmoothL1Loss()
    cart = Cart()
    memory = []
    state = [0.0, 0.0]
    steps = 0

    def choose(state):
        epsilon = max(0.05, 1 - steps / 150)
        if torch.rand(1).item() < epsilon:
            return torch.randint(0, 2, (1,)).item()
        with torch.no_grad():
            return online(torch.tensor([state])).argmax(1).item()

    def step():
        nonlocal state, steps
        if steps % 24 == 0:
            state = cart.reset(torch.rand(1).item() * 2 - 1)
        action = choose(state)
        following, reward = cart.step(action)
        memory.append((state, action, reward, following))
        state = following
        if steps % 20 == 0:
            target.load_state_dict(online.state_dict())
        steps += 1

        batch = [memory[i] for i in torch.randint(0, len(memory), (64,)).tolist()]
        states, actions, rewards, nexts = map(torch.tensor, zip(*batch))
        with torch.no_grad():
            best = target(nexts).max(1).values
        chosen = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = criterion(chosen, rewards + 0.9 * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def score():
        last = memory[-48:]
        return -sum(reward for _, _, reward, _ in last) / len(last)

    return step, score
