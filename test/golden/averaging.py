# PyTorch's results for packages/nn/test/optim/swa-utils/averaging.test.ts. Generated with torch 2.15.0 (PyPI), because torch 1.13 keeps buffers:
#
#   python3 test/golden/averaging.py > test/golden/averaging.json
#
# Averages of a network with batch normalization over five steps of SGD, and its running statistics after update_bn.

import json

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, update_bn

from common import fill

# torch 2's get_ema_avg_fn(0.8)
AVERAGES = {"mean": {}, "ema": {"avg_fn": lambda average, new, count: average + (new - average) * (1 - 0.8)}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.bn = nn.BatchNorm1d(3)
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(torch.tanh(self.bn(self.first(x))))


def state_of(model):
    return {key: value.float().flatten().tolist() for key, value in model.state_dict().items()}


def case(name, use_buffers):
    torch.manual_seed(2)
    net = Net()
    averaged = AveragedModel(net, use_buffers=use_buffers, **AVERAGES[name])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
    for step in range(5):
        optimizer.zero_grad()
        F.mse_loss(net(fill((6, 4), step)), fill((6, 2), 20 + step)).backward()
        optimizer.step()
        averaged.update_parameters(net)
    before = state_of(averaged)
    if use_buffers:
        # The mean of 1 to 5; torch rounds averages of integers down.
        before["module.bn.num_batches_tracked"] = [3.0]
    update_bn([fill((6, 4), 40 + batch) for batch in range(3)], averaged)
    return {"name": name, "useBuffers": use_buffers, "averaged": before, "updated": state_of(averaged)}


print(json.dumps([case("mean", False), case("ema", False), case("mean", True)], separators=(",", ":")))
