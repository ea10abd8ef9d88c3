# Inputs and summaries that the scripts of this folder share.

import numpy as np
import torch
import torch.nn as nn


def fill(shape, seed):
    """fill of packages/nn/test/support/fill.ts, in float32."""
    place = np.arange(1, int(np.prod(shape)) + 1, dtype=np.int64)
    values = (place * (7919 + 104 * seed) % 10007) / 5003.5 - 1
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def fill_coarse(shape, seed):
    place = np.arange(1, int(np.prod(shape)) + 1, dtype=np.int64)
    values = place * (7919 + 104 * seed) % 10007 % 3 - 1
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def fill_classes(count, depth, seed):
    return torch.from_numpy((7 * np.arange(count) + seed) % depth)


def ignoring(count, depth, seed, ignored=-100):
    """Classes; every third one is ignored."""
    classes = fill_classes(count, depth, seed)
    classes[::3] = ignored
    return classes


def shortest(number):
    """The shortest decimal that parses to this float32."""
    return float(str(np.float32(number)))


def summary(tensor):
    """Sampled elements; for larger tensors also the sum and the sum of absolute values."""
    flat = tensor.detach().double().numpy().reshape(-1)
    if len(flat) <= 64:
        return {"samples": [shortest(x) for x in flat]}
    places = [k * (len(flat) - 1) // 63 for k in range(64)]
    return {
        "samples": [shortest(flat[place]) for place in places],
        "sum": shortest(flat.sum()),
        "sizes": shortest(np.abs(flat).sum()),
    }


def operator_cases(table, fill_input):
    """Output and gradients of every function, for the loss sum(output · fill(output's shape, 50))."""
    for name, (shapes, function) in table.items():
        inputs = [fill_input(shape, seed).double().requires_grad_() for seed, shape in enumerate(shapes)]
        output = function(*inputs)
        (output * fill(output.shape, 50).double()).sum().backward()
        yield {
            "name": name,
            "inputs": shapes,
            "output": {"shape": list(output.shape), **summary(output)},
            "gradients": [summary(x.grad) for x in inputs],
        }


def module_cases(table):
    """Parameters, output and gradients of modules as they are after torch.manual_seed(1), in double precision, without dropout."""
    for name, (shapes, make, call) in table.items():
        torch.manual_seed(1)
        module = make()
        parameters = {key: summary(value) for key, value in module.state_dict().items()}
        module = module.double()
        # Dropout only; in training mode no fused path computes the layers.
        for part in module.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.0
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 0.0
        inputs = [fill(shape, seed).double().requires_grad_() for seed, shape in enumerate(shapes)]
        output = call(module, *inputs)
        (output * fill(output.shape, 50).double()).sum().backward()
        yield {
            "name": name,
            "inputs": shapes,
            "output": {"shape": list(output.shape), **summary(output)},
            "gradients": [summary(x.grad) for x in inputs],
            "parameters": parameters,
            "parameterGradients": {key: summary(value.grad) for key, value in module.named_parameters()},
        }
