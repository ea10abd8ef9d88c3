# PyTorch's public names for test/torch-names.test.ts and the tables of docs/from-pytorch.md. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/torch_names.py > test/golden/torch_names.json

import inspect
import json

import torch
import torch.distributed as distributed
import torch.utils.data as data
from torch.optim import lr_scheduler, swa_utils


def public(owner):
    return sorted(name for name in dir(owner) if not name.startswith("_"))


def defined(owner, kind=callable):
    """Public names of what a module defines, without what it imports from elsewhere."""
    names = []
    for name in public(owner):
        member = getattr(owner, name)
        home = getattr(member, "__module__", None) or owner.__name__
        if kind(member) and home.startswith("torch"):
            names.append(name)
    return names


def parts(owner, base=object):
    """Classes of a module that are public and derived from a class."""
    return [name for name in defined(owner, inspect.isclass) if issubclass(getattr(owner, name), base)]


functions = {name for name in dir(torch.Tensor)}
families = {
    "torch.Tensor": [name for name in public(torch.Tensor) if not name.endswith("_")],
    "torch.nn.Module": [name for name in public(torch.nn.Module) if callable(getattr(torch.nn.Module, name))],
    "torch.nn": parts(torch.nn, torch.nn.Module) + ["Parameter", "functional", "init", "utils"],
    "torch.nn.functional": [
        name
        for name in defined(torch.nn.functional)
        if not name.endswith(("_", "_with_indices")) and not name.startswith(("has_torch", "handle_torch")) and name.islower()
    ],
    "torch.nn.init": [name for name in defined(torch.nn.init) if name.endswith("_") or name == "calculate_gain"],
    "torch.nn.utils": [name for name in defined(torch.nn.utils, inspect.isfunction)],
    "torch.nn.utils.rnn": [name for name in defined(torch.nn.utils.rnn, inspect.isfunction)],
    "torch.optim": parts(torch.optim),
    "torch.optim.Optimizer": [name for name in public(torch.optim.Optimizer) if callable(getattr(torch.optim.Optimizer, name))],
    "torch.optim.lr_scheduler": parts(lr_scheduler, lr_scheduler.LRScheduler),
    "torch.optim.swa_utils": ["AveragedModel", "SWALR", "get_ema_multi_avg_fn", "update_bn"],
    "torch.distributed": [name for name in defined(distributed, inspect.isfunction)]
    + ["FileStore", "HashStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work"],
    "torch.utils.data": [name for name in defined(data) if "DataPipe" not in name and "datapipe" not in name],
}
print(json.dumps(families, indent=1))
