# PyTorch's results for packages/nn/test/optim/lbfgs.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/lbfgs.py > test/golden/lbfgs.json
#
# Losses and parameters of torch.optim.LBFGS in double precision: three steps of a small network, and the calls of the closure.

import json

import torch
import torch.nn.functional as F

from common import fill

CASES = [
    dict(max_iter=4),
    dict(lr=0.5, max_iter=5, history_size=2),
    dict(max_iter=6, line_search_fn="strong_wolfe"),
    dict(lr=3, max_iter=20, max_eval=7, line_search_fn="strong_wolfe"),
    dict(max_iter=5, tolerance_grad=0.05),
    dict(max_iter=20, tolerance_change=1e-3, line_search_fn="strong_wolfe"),
]


def case(settings):
    w = (fill((5, 4), 1) / 2).double().requires_grad_()
    b = (fill((5,), 2) / 2).double().requires_grad_()
    v = (fill((1, 5), 3) / 2).double().requires_grad_()
    x, y = fill((12, 4), 4).double(), fill((12, 1), 5).double()
    optimizer = torch.optim.LBFGS([w, b, v], **settings)
    losses, calls = [], []

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(torch.tanh(F.linear(x, w, b)) @ v.t(), y)
        loss.backward()
        calls.append(loss.item())
        return loss

    for _ in range(3):
        losses.append(optimizer.step(closure).item())
    parameters = [p.detach().float().flatten().tolist() for p in (w, b, v)]
    return {"settings": settings, "losses": losses, "calls": len(calls), "last": calls[-1], "parameters": parameters}


print(json.dumps([case(settings) for settings in CASES], separators=(",", ":")))
