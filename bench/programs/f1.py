"""DistributedDataParallel with the F1 score over all ranks, whose counts are all-reduced. Its counterpart is f1.ts."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel


def start():
    dist.init_process_group("gloo")
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    model = DistributedDataParallel(net)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    direction = torch.randn(16)
    torch.manual_seed(100 + dist.get_rank())
    f1 = 0

    def step():
        nonlocal f1
        x = torch.randn(64, 16)
        is_positive = x @ direction > 2
        optimizer.zero_grad()
        logits = model(x).squeeze(1)
        loss = F.binary_cross_entropy_with_logits(logits, is_positive.float())
        loss.backward()
        optimizer.step()

        is_found = logits > 0
        counts = torch.stack(
            [(is_found & is_positive).sum(), (is_found & ~is_positive).sum(), (~is_found & is_positive).sum()]
        )
        dist.all_reduce(counts)
        tp, fp, fn = counts.tolist()
        f1 = 2 * tp / (2 * tp + fp + fn)
        return loss.item()

    def score():
        return 1 - f1

    return step, score
