# Modules with spectral_norm and weight_norm after torch.manual_seed(1): state dict, and loss, gradients and state of three steps
# of SGD, for packages/nn/test/nn/utils/parametrizations.test.ts. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/parametrizations.py > test/golden/parametrizations.json

import json

import torch
import torch.nn as nn
from common import fill, summary
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

MODULES = {
    "spectralNorm of Linear": ([3, 5], lambda: spectral_norm(nn.Linear(5, 4))),
    "spectralNorm of Conv2d": ([2, 3, 5, 5], lambda: spectral_norm(nn.Conv2d(3, 4, 3), n_power_iterations=2)),
    "spectralNorm of ConvTranspose2d": ([2, 3, 4, 4], lambda: spectral_norm(nn.ConvTranspose2d(3, 4, 3))),
    "spectralNorm of a bias": ([3, 5], lambda: spectral_norm(nn.Linear(5, 4), "bias", dim=None)),
    "weightNorm of Linear": ([3, 5], lambda: weight_norm(nn.Linear(5, 4))),
    "weightNorm of Conv2d": ([2, 3, 5, 5], lambda: weight_norm(nn.Conv2d(3, 4, 3), dim=1)),
    "weightNorm of a whole weight": ([3, 5], lambda: weight_norm(nn.Linear(5, 4), dim=None)),
    "both": ([3, 5], lambda: weight_norm(spectral_norm(nn.Linear(5, 4)), "bias", dim=None)),
}


def state(module):
    return {key: {"shape": list(value.shape), **summary(value)} for key, value in module.state_dict().items()}


def case(name, shape, make):
    torch.manual_seed(1)
    module = make()
    initial = state(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    losses = []
    for step in range(3):
        optimizer.zero_grad()
        output = module(fill(shape, step))
        loss = (output * fill(output.shape, 50)).sum()
        loss.backward()
        losses.append(loss.item())
        gradients = {key: summary(value.grad) for key, value in module.named_parameters()}
        optimizer.step()
    module.eval()
    output = module(fill(shape, 9))
    return {
        "name": name,
        "input": shape,
        "initial": initial,
        "losses": losses,
        "gradients": gradients,
        "state": state(module),
        "output": summary(output),
    }


print(json.dumps([case(name, *rest) for name, rest in MODULES.items()], separators=(",", ":")))
