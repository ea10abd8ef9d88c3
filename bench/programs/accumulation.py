"""Gradient accumulation over four parts of a batch, clipping, and an exponential moving average. Its counterpart is
accumulation.ts."""

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn


def net():
    return nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 4))


def start():
    torch.manual_seed(9)
    model = net()
    optimizer = optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
    teacher = nn.Linear(16, 4)
    x, x_val = torch.randn(512, 16), torch.randn(128, 16)
    with torch.no_grad():
        y, y_val = teacher(x.abs()), teacher(x_val.abs())
    averaged = AveragedModel(model, avg_fn=get_ema_avg_fn(0.9))
    at = 0

    def step():
        nonlocal at
        optimizer.zero_grad()
        total = 0
        for _ in range(4):
            rows = slice(at, at + 32)
            at = (at + 32) % 512
            loss = F.mse_loss(model(x[rows]), y[rows]) / 4
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        scheduler.step()
        averaged.update_parameters(model)
        return total

    def score():
        with torch.no_grad():
            return F.mse_loss(averaged(x_val), y_val).item()

    return step, score
