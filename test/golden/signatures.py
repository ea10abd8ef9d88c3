# The arguments of torch's functions and constructors in their order, for packages/nn/test/calls/signatures.test.ts: a `?` after
# a name with a default, `*` before names without a position. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/signatures.py > test/golden/signatures.json

import inspect
import json
import re

import torch
import torch.distributions as distributions
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
import torch.nn.utils as utils
import torch.nn.utils.parametrizations as parametrizations
import torch.nn.utils.rnn as rnn
import torch.optim.lr_scheduler as lr_scheduler
import torch.optim.swa_utils as swa_utils


def inspected(function):
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self" or parameter.kind == parameter.VAR_KEYWORD:
            continue
        if parameter.kind == parameter.VAR_POSITIONAL:
            return None
        if parameter.kind == parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(parameter.name + ("" if parameter.default is parameter.empty else "?"))
    return names


def documented(function):
    """Of a function of C++: the first line of its documentation."""
    match = re.search(r"\((.*)\)", (function.__doc__ or "").strip().split("\n")[0])
    if not match:
        return None
    names = [part.strip() for part in match[1].split(", ")]
    return [name.split("=")[0].strip() + "?" if "=" in name else name for name in names if name]


def of(function):
    try:
        return inspected(function)
    except (TypeError, ValueError):
        return documented(function)


families = {
    "F": {name: getattr(F, name) for name in dir(F) if callable(getattr(F, name)) and not name.endswith("_")},
    "nn": {name: getattr(nn, name).__init__ for name in dir(nn) if inspect.isclass(getattr(nn, name))},
    "optim": {n: getattr(torch.optim, n).__init__ for n in dir(torch.optim) if inspect.isclass(getattr(torch.optim, n))},
    "optim.lrScheduler": {n: c.__init__ for n, c in vars(lr_scheduler).items() if inspect.isclass(c)},
    "optim.swaUtils": {n: c.__init__ for n, c in vars(swa_utils).items() if inspect.isclass(c)},
    "nn.init": {n.removesuffix("_"): f for n, f in vars(init).items() if inspect.isfunction(f)},
    "nn.utils": {n.removesuffix("_"): f for n, f in vars(utils).items() if inspect.isfunction(f) and n.endswith("_")},
    "nn.utils.parametrizations": {n: f for n, f in vars(parametrizations).items() if inspect.isfunction(f)},
    "distributions": {n: getattr(distributions, n).__init__ for n in distributions.__all__ if inspect.isclass(getattr(distributions, n))},
    "nn.utils.rnn": {n: f for n, f in vars(rnn).items() if inspect.isfunction(f)},
}
# Overloads of pools, under the name that users call.
for axes in (1, 2, 3):
    for pool in ("max_pool", "adaptive_max_pool"):
        families["F"][f"{pool}{axes}d"] = getattr(F, f"{pool}{axes}d_with_indices")

table = {}
for family, functions in families.items():
    for name, function in sorted(functions.items()):
        names = None if name.startswith("_") else of(function)
        if names is not None:
            table[f"{family}.{name}"] = " ".join(names)
print(json.dumps(table, indent=0))
