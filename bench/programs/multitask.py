"""A model with three heads and losses, whose accuracy is read in each step. Its counterpart is multitask.ts."""

import torch
import torch.nn.functional as F
from torch import nn, optim


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.kind = nn.Linear(48, 5)
        self.box = nn.Linear(48, 4)
        self.visible = nn.Linear(48, 1)

    def forward(self, x):
        features = self.body(x)
        return {"kind": self.kind(features), "box": self.box(features), "visible": self.visible(features).squeeze(1)}


def start():
    torch.manual_seed(10)
    model = MultiTask()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    weights = torch.randn(20, 10)
    bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.5]))
    accuracy = 0

    def step():
        nonlocal accuracy
        x = torch.randn(64, 20)
        known = x @ weights
        kinds, boxes = known[:, 0:5].argmax(1), known[:, 5:9] * 0.3
        visible = (known[:, 9] > 0).float()
        optimizer.zero_grad()
        found = model(x)
        of_kind = F.cross_entropy(found["kind"], kinds, label_smoothing=0.05)
        of_box = F.huber_loss(found["box"], boxes)
        of_visible = bce(found["visible"], visible)
        loss = of_kind + 0.5 * of_box + 0.25 * of_visible
        loss.backward()
        optimizer.step()
        accuracy = (found["kind"].argmax(1) == kinds).float().mean().item()
        return of_kind.item() + 0.5 * of_box.item() + 0.25 * of_visible.item()

    def score():
        return 1 - accuracy

    return step, score
