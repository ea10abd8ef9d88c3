"""A sweep: each step is a training of its own, with another width, rate and momentum. Its counterpart is sweep.ts."""

from itertools import product

import torch
import torch.nn.functional as F
from torch import nn, optim

SETTINGS = list(product([8, 16, 32], [0.03, 0.1], [0, 0.9]))


def train(width, lr, momentum):
    """Trains with one setting. Returns the last loss."""
    torch.manual_seed(12)
    model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 1))
    optimizer = optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    x = torch.randn(64, 8)
    y = x.abs().sum(1, keepdim=True) - 6
    for _ in range(25):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        last = loss.item()
    return last


def start():
    losses = []

    def step():
        losses.append(train(*SETTINGS[len(losses) % len(SETTINGS)]))
        return losses[-1]

    def score():
        return min(losses)

    return step, score
