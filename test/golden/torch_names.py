# PyTorch's public names for test/torch-names.test.ts and the tables of docs/from-pytorch.md. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/torch_names.py > test/golden/torch_names.json

import inspect
import json

import torch
import torch.distributed as distributed
import torch.distributions as distributions
import torch.nn.utils.parametrizations as parametrizations
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


# Functions that are no methods of tensors, without those of backends and of torch's own use.
creation = "arange as_tensor empty empty_like eye from_numpy full full_like linspace logspace manual_seed normal ones ones_like rand rand_like randint randint_like randn randn_like randperm tensor zeros zeros_like"
combination = "atleast_1d block_diag broadcast_tensors cartesian_prod cat cdist chain_matmul column_stack concat concatenate dstack einsum hstack isin meshgrid stack std_mean tensordot tril_indices triu_indices vander var_mean vstack where"
state = "autocast compile enable_grad get_num_threads get_rng_state inference_mode is_grad_enabled is_tensor load no_grad save set_default_dtype set_grad_enabled set_num_threads set_rng_state use_deterministic_algorithms vmap"
functions = f"{creation} {combination} {state}".split()
assert all(callable(getattr(torch, name)) for name in functions)

families = {
    "torch": functions,
    "torch.Tensor": [name for name in public(torch.Tensor) if not name.endswith("_")],
    "torch.nn.Module": [name for name in public(torch.nn.Module) if callable(getattr(torch.nn.Module, name)) and name != "forward"],
    "torch.nn": parts(torch.nn, torch.nn.Module) + ["Parameter", "functional", "init", "utils"],
    "torch.nn.functional": [
        name
        for name in defined(torch.nn.functional)
        if not name.endswith(("_", "_with_indices")) and not name.startswith(("has_torch", "handle_torch")) and name.islower()
    ],
    "torch.nn.init": [name for name in defined(torch.nn.init) if name.endswith("_") or name == "calculate_gain"],
    "torch.nn.utils": [name for name in defined(torch.nn.utils, inspect.isfunction)],
    "torch.nn.utils.rnn": [name for name in defined(torch.nn.utils.rnn, inspect.isfunction)],
    "torch.nn.utils.parametrizations": [name for name in defined(parametrizations, inspect.isfunction)],
    "torch.distributions": sorted(
        name for name in distributions.__all__ if name[0].isupper() or name in ("kl_divergence", "register_kl")
    ),
    "torch.distributions.Distribution": public(distributions.Distribution),
    "torch.optim": parts(torch.optim),
    "torch.optim.Optimizer": [name for name in public(torch.optim.Optimizer) if callable(getattr(torch.optim.Optimizer, name))],
    "torch.optim.lr_scheduler": parts(lr_scheduler, lr_scheduler.LRScheduler),
    "torch.optim.swa_utils": ["AveragedModel", "SWALR", "get_ema_multi_avg_fn", "update_bn"],
    "torch.distributed": [name for name in defined(distributed, inspect.isfunction)]
    + ["FileStore", "HashStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work"],
    "torch.utils.data": [name for name in defined(data) if "DataPipe" not in name and "datapipe" not in name],
}
print(json.dumps(families, indent=1))
