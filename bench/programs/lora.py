"""LoRA: a layer of one's own adds low-rank updates to frozen linear layers. Its counterpart is lora.ts."""

import math

import torch
import torch.nn.functional as F
from torch import nn, optim


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(rank, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + x @ self.A.t() @ self.B.t() * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(32, 128)
        self.fc2 = nn.Linear(128, 128)
        self.out = nn.Linear(128, 1)

    def forward(self, x):
        return self.out(F.gelu(self.fc2(F.gelu(self.fc1(x)))))


def start():
    torch.manual_seed(8)
    model = Net()
    model.requires_grad_(False)
    for name in ("fc1", "fc2"):
        setattr(model, name, LoRALinear(getattr(model, name)))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = optim.AdamW(trained, lr=5e-3)
    direction = torch.randn(32, 1) * 0.3

    def step():
        x = torch.randn(64, 32)
        y = (x @ direction).tanh()
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, None
