# Builds networks that packages/nn/test/random-networks describes as JSON (standard input, a list), and prints for each, as one
# line of JSON: the loss, the output, the gradients and the state afterwards, in double precision; and of each of them what single
# precision makes different. Runs with torch 1.13 and newer.

import json
import math
import re
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from common import fill


def snake(name):
    return re.sub("([A-Z])", r"_\1", name).lower()


class RMSNorm(nn.Module):
    """torch 2's RMSNorm."""

    def __init__(self, size, eps=None, elementwise_affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size)) if elementwise_affine else None

    def forward(self, x):
        # The default is that of float32.
        eps = 2**-23 if self.eps is None else self.eps
        scaled = x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
        return scaled if self.weight is None else scaled * self.weight


class Padding(nn.Module):
    """Modules of torch 2.1."""

    def __init__(self, axes, mode, padding):
        super().__init__()
        self.mode = mode
        self.padding = padding if isinstance(padding, (tuple, list)) else [padding] * (2 * axes)

    def forward(self, x):
        return F.pad(x, tuple(self.padding), self.mode)


class ChannelShuffle(nn.Module):
    """torch 1.13's has no gradient."""

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        return x.unflatten(1, (self.groups, x.shape[1] // self.groups)).transpose(1, 2).flatten(1, 2)


OWN = {"RMSNorm": RMSNorm, "ChannelShuffle": ChannelShuffle}


def attention(query, key, value, is_causal=False, scale=None):
    """torch 2's scaled_dot_product_attention."""
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:]).tril().bool(), -math.inf)
    return scores.softmax(-1) @ value


def module_of(name):
    if name in OWN:
        return OWN[name]
    newer = re.fullmatch(r"(Circular|Zero)Pad(\d)d", name)
    if newer and not hasattr(nn, name):
        mode = "circular" if newer[1] == "Circular" else "constant"
        return lambda padding: Padding(int(newer[2]), mode, padding)
    return getattr(nn, name)


def value_of(argument, dtype):
    if isinstance(argument, list):
        return tuple(value_of(part, dtype) for part in argument)
    if not isinstance(argument, dict):
        return argument
    numbers, kind = fill(argument["shape"], argument["seed"]), argument["as"]
    if kind == "numbers":
        return numbers.to(dtype)
    if kind == "mask":
        return numbers > 0
    if kind == "fractions":
        return ((numbers + 1) / 2).to(dtype)
    return ((numbers.double() + 1) / 2 * kind["below"]).floor().long()


def first(result):
    return result[0] if isinstance(result, (tuple, list)) else result


class Network(nn.Module):
    def __init__(self, network, dtype):
        super().__init__()
        self.network, self.dtype = network, dtype
        torch.manual_seed(network["seed"])
        self.modules_of_calls = nn.ModuleList()
        self.create(network["steps"])
        self.train(network["training"]).to(dtype)

    def create(self, steps):
        for step in steps:
            if step["kind"] == "branches":
                for path in step["paths"]:
                    self.create(path)
            elif step["kind"] == "module":
                args, options = self.arguments(step)
                self.modules_of_calls.append(module_of(step["name"])(*args, **options))

    def arguments(self, call):
        call = {**call, **call.get("torch", {})}
        args = [value_of(argument, self.dtype) for argument in call["args"]]
        options = {snake(name): value_of(value, self.dtype) for name, value in call.get("options", {}).items()}
        return args, options

    def forward(self, x):
        self.made = iter(self.modules_of_calls)
        return self.run(self.network["steps"], x)

    def run(self, steps, x):
        for step in steps:
            if step["kind"] == "branches":
                parts = [self.run(path, x) for path in step["paths"]]
                join = step["join"]
                x = torch.cat(parts, -1) if join == "cat" else sum(parts) if join == "add" else math.prod(parts[1:], start=parts[0])
            else:
                x = self.call(step, x)
        return x

    def call(self, step, x):
        inputs = [x] * step.get("times", 1)
        if step["kind"] == "module":
            return first(next(self.made)(*inputs))
        args, options = self.arguments(step)
        name = snake(step.get("torch", {}).get("name", step["name"]))
        if step["kind"] == "method":
            # A cast is to the precision of this network.
            if name == "float":
                return x.to(self.dtype)
            return first(METHODS[name](x, *args) if name in METHODS else getattr(x, name)(*args, **options))
        function = attention if name == "scaled_dot_product_attention" else getattr(F, name)
        return function(*inputs, *args, **options)


# With the argument `autocast`, float32 networks compute in it.
AUTOCAST = "autocast" in sys.argv[1:]

# Methods whose arguments are in another order.
METHODS = {
    "where": lambda x, condition, other: torch.where(condition, x, other),
}


def computed(network, dtype, moved_by=0.0, autocast=False):
    """All results, after each parameter and the input have been moved by a part of them; optionally with bfloat16."""
    model = Network(network, dtype)
    x = value_of(network["input"], dtype)
    for seed, one in enumerate([x, *model.parameters()]):
        if one.is_floating_point():
            one.data *= 1 + moved_by * fill(one.shape, seed)
    if x.is_floating_point():
        x.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        output = model(x)
        loss = model.call(network["loss"], output)
    loss.backward()
    trained = ([x] if x.is_floating_point() else []) + list(model.parameters())
    gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in trained]
    state = [value for key, value in model.state_dict().items() if not key.endswith("num_batches_tracked")]
    return [loss.reshape(1), output, *gradients, *state]


def as_json(tensor):
    """The elements; NaN and infinities as strings."""
    return [one if math.isfinite(one) else str(one) for one in tensor.detach().reshape(-1).tolist()]


def rounding_of(exact, rounded):
    differences = (exact.detach() - rounded.detach()).abs()
    return max(differences[differences.isfinite()].tolist(), default=0)


def main():
    for network in json.load(sys.stdin):
        try:
            exact = computed(network, torch.float64)
            single = computed(network, torch.float32, autocast=AUTOCAST)
            others = [single, computed(network, torch.float64, moved_by=2**-8 if AUTOCAST else 2**-23)]
            found = [
                {
                    "data": as_json(one),
                    "rounding": max(rounding_of(one, other[i]) for other in others),
                    "dtype": str(single[i].dtype).removeprefix("torch."),
                }
                for i, one in enumerate(exact)
            ]
            print(json.dumps({"values": found}))
        except Exception as error:  # The test shows it beside the network.
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
