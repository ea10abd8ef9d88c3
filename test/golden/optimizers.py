# Results of PyTorch's optimizers, schedulers and clipping, for optimizers-golden.test.ts, lr-scheduler.test.ts and clip-grad.test.ts of
# packages/nn/test. Written with torch 2.15.0 and numpy 2 (PyPI), because NAdam of torch 1.13 and of torch 2 differ:
#
#   python3 test/golden/optimizers.py > test/golden/optimizers.json
#
# Computed in double precision from float32 inputs; elements of tensors are rounded to float32 at the end, learning rates are not.

import json
import re
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim import lr_scheduler
from torch.optim.swa_utils import SWALR

warnings.filterwarnings("ignore")


def fill(shape, seed):
    """fill of packages/nn/test/support/fill.ts, in float32."""
    place = np.arange(1, int(np.prod(shape)) + 1, dtype=np.int64)
    values = (place * (7919 + 104 * seed) % 10007) / 5003.5 - 1
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def elements(tensor):
    """The shortest decimals that parse to these float32 numbers."""
    return [float(str(np.float32(x))) for x in tensor.detach().double().flatten()]


def camel(name):
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def camel_keys(settings):
    return {camel(name): value for name, value in settings.items()}


# Class, and settings that optimizers-golden.test.ts receives in camelCase.
OPTIMIZERS = [
    ("SGD", dict(lr=0.1)),
    ("SGD", dict(lr=0.1, momentum=0.9)),
    ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.3)),
    ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True)),
    ("SGD", dict(lr=0.1, momentum=0.8, dampening=0.5, weight_decay=0.2)),
    ("Adam", dict()),
    ("Adam", dict(lr=0.05)),
    ("Adam", dict(lr=0.05, betas=(0.7, 0.95), eps=1e-3)),
    ("Adam", dict(lr=0.05, weight_decay=0.3)),
    ("Adam", dict(lr=0.05, amsgrad=True, betas=(0.5, 0.6))),
    ("AdamW", dict(lr=0.05)),
    ("AdamW", dict(lr=0.05, weight_decay=0.5, betas=(0.8, 0.9))),
    ("AdamW", dict(lr=0.05, weight_decay=0, amsgrad=True, betas=(0.5, 0.6))),
    ("RMSprop", dict()),
    ("RMSprop", dict(lr=0.02, alpha=0.8, eps=1e-4, weight_decay=0.1)),
    ("RMSprop", dict(lr=0.02, momentum=0.7)),
    ("RMSprop", dict(lr=0.02, alpha=0.9, momentum=0.7, centered=True)),
    ("Adadelta", dict()),
    ("Adadelta", dict(lr=2.0, rho=0.7, eps=1e-3, weight_decay=0.1)),
    ("Adagrad", dict()),
    ("Adagrad", dict(lr=0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.3, eps=1e-3)),
    ("NAdam", dict()),
    ("NAdam", dict(lr=0.05, betas=(0.7, 0.95), eps=1e-3, weight_decay=0.1, momentum_decay=0.1)),
    ("RAdam", dict(lr=0.05)),
    ("RAdam", dict(lr=0.05, betas=(0.7, 0.8), eps=1e-3, weight_decay=0.1)),
    ("Lion", dict(lr=0.02)),
    ("Lion", dict(lr=0.02, betas=(0.5, 0.7), weight_decay=0.3)),
]


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023. torch has no such optimizer."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=torch.zeros_like(p))
                m = state["exp_avg"]
                c = first * m + (1 - first) * p.grad
                p -= group["lr"] * (c.sign() + group["weight_decay"] * p)
                m.copy_(second * m + (1 - second) * p.grad)
                state["step"] += 1


torch.optim.Lion = Lion

STEPS = 12


def optimizer_case(name, settings):
    """
    Parameters and states of a linear layer after 12 steps of regression. The bias is in a group of its own with half the rate and other weight
    decay; a scale takes part in two of three steps only; the first group's rate halves at the seventh step.
    """
    weight = fill((3, 4), 1).double().requires_grad_()
    bias = fill((3,), 2).double().requires_grad_()
    scale = (fill((3,), 3).double() + 1.5).requires_grad_()
    kind = getattr(torch.optim, name)
    optimizer = kind([{"params": [weight, scale]}, {"params": [bias], "lr": 0.03, "weight_decay": 0.05}], **settings)
    for step in range(STEPS):
        if step == 6:
            optimizer.param_groups[0]["lr"] /= 2
        output = F.linear(fill((6, 4), 10 + step).double(), weight, bias)
        if step % 3 != 1:
            output = output * scale
        error = output - fill((6, 3), 30 + step).double()
        optimizer.zero_grad(set_to_none=True)
        (error * error).mean().backward()
        optimizer.step()
    states = [optimizer.state[p] for p in (weight, scale, bias)]
    return {
        "optimizer": name,
        "settings": camel_keys(settings),
        "parameters": [elements(p) for p in (weight, scale, bias)],
        "states": [
            {
                camel(key): float(value) if key == "step" else elements(value)
                for key, value in state.items()
                # NAdam's product of momenta is not a state here.
                if value is not None and key != "mu_product"
            }
            for state in states
        ],
    }


# Name: optimizer, function of it that makes the scheduler, number of steps. lr-scheduler.test.ts has the same under the same names.
def sgd():
    groups = [{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 0.02}]
    return torch.optim.SGD(groups, lr=0.5, momentum=0.9)


def adam():
    return torch.optim.Adam([torch.zeros(1)], lr=0.5)


def warm_up_then_cosine(optimizer):
    warm_up = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, 8, eta_min=0.001)
    return lr_scheduler.SequentialLR(optimizer, [warm_up, cosine], [4])


def three_after_another(optimizer):
    schedulers = [
        lr_scheduler.ExponentialLR(optimizer, 0.5),
        lr_scheduler.StepLR(optimizer, 2, gamma=0.3),
        lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch)),
    ]
    return lr_scheduler.SequentialLR(optimizer, schedulers, [3, 8])


SCHEDULES = {
    "LambdaLR": (sgd, lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.95**epoch), 10),
    "LambdaLR, one for each group": (
        sgd,
        lambda o: lr_scheduler.LambdaLR(o, [lambda epoch: 1 / (epoch + 1), lambda epoch: epoch // 3]),
        10,
    ),
    "StepLR": (sgd, lambda o: lr_scheduler.StepLR(o, 3), 10),
    "StepLR with gamma": (sgd, lambda o: lr_scheduler.StepLR(o, 4, gamma=0.7), 13),
    "MultiStepLR": (sgd, lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5), 12),
    "ExponentialLR": (sgd, lambda o: lr_scheduler.ExponentialLR(o, 0.9), 10),
    "LinearLR": (sgd, lambda o: lr_scheduler.LinearLR(o), 8),
    "LinearLR with options": (
        sgd,
        lambda o: lr_scheduler.LinearLR(o, start_factor=0.8, end_factor=0.2, total_iters=6),
        9,
    ),
    "CosineAnnealingLR": (sgd, lambda o: lr_scheduler.CosineAnnealingLR(o, 5), 23),
    "CosineAnnealingLR with etaMin": (sgd, lambda o: lr_scheduler.CosineAnnealingLR(o, 7, eta_min=0.01), 16),
    "OneCycleLR": (sgd, lambda o: lr_scheduler.OneCycleLR(o, 0.4, total_steps=20), 20),
    "OneCycleLR, linear, three phases": (
        sgd,
        lambda o: lr_scheduler.OneCycleLR(
            o,
            [0.4, 0.1],
            epochs=5,
            steps_per_epoch=4,
            pct_start=0.4,
            anneal_strategy="linear",
            three_phase=True,
            base_momentum=0.7,
            max_momentum=0.8,
            div_factor=10,
            final_div_factor=100,
        ),
        20,
    ),
    "OneCycleLR of Adam": (adam, lambda o: lr_scheduler.OneCycleLR(o, 0.4, total_steps=11, pct_start=0.5), 11),
    "OneCycleLR without momentum": (
        adam,
        lambda o: lr_scheduler.OneCycleLR(o, 0.4, total_steps=11, cycle_momentum=False),
        11,
    ),
    "CosineAnnealingWarmRestarts": (sgd, lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4), 13),
    "CosineAnnealingWarmRestarts with options": (
        sgd,
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01),
        23,
    ),
    "SWALR": (sgd, lambda o: SWALR(o, 0.05), 14),
    "SWALR, linear": (sgd, lambda o: SWALR(o, [0.05, 0.3], anneal_epochs=4, anneal_strategy="linear"), 7),
    "SWALR at once": (sgd, lambda o: SWALR(o, 0.05, anneal_epochs=0), 3),
    "SequentialLR": (sgd, warm_up_then_cosine, 14),
    "SequentialLR of three": (sgd, three_after_another, 14),
}


def schedule(make_optimizer, make_scheduler, steps):
    """Rates and momenta of all groups before the first step and after each."""
    optimizer = make_optimizer()
    scheduler = make_scheduler(optimizer)
    rates, momenta = [], []
    for step in range(steps + 1):
        if step > 0:
            optimizer.step()
            scheduler.step()
        rates.append(scheduler.get_last_lr())
        momenta.append([g["momentum"] if "momentum" in g else g["betas"][0] for g in optimizer.param_groups])
    return {"rates": rates, "momenta": momenta}


METRICS = [1.0, 0.9, 0.91, 0.92, 0.8, 0.8, 0.79995, 0.81, float("nan"), 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.6, 0.61]
PLATEAUS = [
    dict(patience=1),
    dict(mode="max", patience=1, factor=0.5, min_lr=[0.1, 0.01]),
    dict(patience=0, cooldown=2, threshold=0.05, threshold_mode="abs", factor=0.3),
    dict(mode="max", patience=2, threshold=0.01, threshold_mode="rel", eps=0.02),
]


def plateau(settings):
    """Rates of all groups after each metric."""
    optimizer = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
    rates = []
    for metric in METRICS:
        scheduler.step(metric)
        rates.append([group["lr"] for group in optimizer.param_groups])
    return {"settings": camel_keys(settings), "rates": rates}


def clipped(max_norm, norm_type):
    """Norm of the gradients fill((3, 4), 1) and fill((5,), 2), and the clipped gradients."""
    parameters = [torch.zeros(shape, dtype=torch.double).requires_grad_() for shape in [(3, 4), (2,), (5,)]]
    for parameter, seed in zip(parameters[::2], (1, 2)):
        parameter.grad = fill(parameter.shape, seed).double()
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
    gradients = [elements(p.grad) for p in parameters[::2]]
    return {"maxNorm": max_norm, "normType": str(norm_type), "norm": float(norm), "gradients": gradients}


fixture = {
    "clipGradNorm": [clipped(*case) for case in [(1, 2), (0.5, 1), (2, 3), (0.25, float("inf")), (100, 2), (0, 2)]],
    "optimizers": [optimizer_case(*case) for case in OPTIMIZERS],
    "metrics": [str(metric) for metric in METRICS],
    "plateaus": [plateau(settings) for settings in PLATEAUS],
    "schedules": {name: schedule(*case) for name, case in SCHEDULES.items()},
}
print(json.dumps(fixture, separators=(",", ":")))
