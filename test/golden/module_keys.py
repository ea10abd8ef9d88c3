# Keys of PyTorch's state dicts, for packages/nn/test/nn/module-keys.test.ts. Generated with torch 2.15.0:
#
#   python3 test/golden/module_keys.py > test/golden/module_keys.json

import json
from collections import OrderedDict

import torch
import torch.nn as nn


def odd(**attributes):
    """A module with attributes of any name."""
    module = nn.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


def weight(*shape):
    return nn.Parameter(torch.zeros(shape))


def custom_norm():
    norm = nn.BatchNorm1d(2)
    norm.extraScale = weight(2)
    norm.runningMeanOfAll = nn.Linear(2, 1)
    return norm


def shared():
    head = nn.Linear(2, 2)
    return odd(firstHead=head, SecondHead=head, lastBias=head.bias)


# The same names are in module-keys.test.ts.
MODULES = {
    "BatchNorm1d": nn.BatchNorm1d(2),
    "BatchNorm2d": nn.BatchNorm2d(2, affine=False),
    "BatchNorm3d": nn.BatchNorm3d(2, track_running_stats=False),
    "SyncBatchNorm": nn.SyncBatchNorm(2),
    "InstanceNorm1d": nn.InstanceNorm1d(2, affine=True),
    "InstanceNorm2d": nn.InstanceNorm2d(2),
    "InstanceNorm3d": nn.InstanceNorm3d(2, affine=True),
    "GroupNorm": nn.GroupNorm(2, 4),
    "LayerNorm": nn.LayerNorm([2, 3]),
    "RMSNorm": nn.RMSNorm(3),
    "Linear": nn.Linear(2, 3),
    "Bilinear": nn.Bilinear(2, 3, 4),
    "Embedding": nn.Embedding(3, 2),
    "EmbeddingBag": nn.EmbeddingBag(3, 2),
    "Conv1d": nn.Conv1d(1, 2, 3),
    "Conv2d": nn.Conv2d(1, 2, 3, bias=False),
    "Conv3d": nn.Conv3d(1, 2, 3),
    "ConvTranspose1d": nn.ConvTranspose1d(1, 2, 3),
    "ConvTranspose2d": nn.ConvTranspose2d(1, 2, 3),
    "ConvTranspose3d": nn.ConvTranspose3d(1, 2, 3),
    "PReLU": nn.PReLU(3),
    "RNN": nn.RNN(2, 3, num_layers=2, bidirectional=True),
    "GRU": nn.GRU(2, 3, num_layers=12, bias=False),
    "LSTM": nn.LSTM(2, 3),
    "RNNCell": nn.RNNCell(2, 3),
    "GRUCell": nn.GRUCell(2, 3),
    "LSTMCell": nn.LSTMCell(2, 3, bias=False),
    "MultiheadAttention": nn.MultiheadAttention(4, 2),
    "MultiheadAttention without biases": nn.MultiheadAttention(4, 2, bias=False),
    "TransformerEncoderLayer": nn.TransformerEncoderLayer(4, 2, 3),
    "TransformerDecoderLayer": nn.TransformerDecoderLayer(4, 2, 3),
    "Transformer": nn.Transformer(4, 2, 1, 2, 3),
    "Sequential": nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.BatchNorm1d(2)),
    "ModuleList": nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 2)]),
    "ModuleDict": nn.ModuleDict(
        {
            "userID": nn.Linear(1, 2),
            "LayerNorm": nn.LayerNorm(2),
            "size": nn.BatchNorm1d(1),
            "set": nn.Linear(1, 1),
            "at": nn.Linear(1, 1),
            "stateDict": nn.Linear(1, 1),
            "constructor": nn.Linear(1, 1),
            "__proto__": nn.Linear(1, 1),
            "10": nn.Linear(1, 1),
            "2": nn.Linear(1, 1),
            "größe 1": nn.Linear(1, 1),
        }
    ),
    "ParameterDict": nn.ParameterDict(OrderedDict(Scale=weight(1), size=weight(2), b=weight(3), aB=weight(4))),
    "ParameterList": nn.ParameterList([weight(1), weight(2)]),
    "names of the user": odd(
        LayerNorm=nn.LayerNorm(2),
        Conv2d_1a_3x3=nn.Conv2d(1, 1, 3),
        hiddenLayer=nn.Linear(1, 1),
        userID=weight(1),
        runningMean=weight(2),
        selfAttn=nn.MultiheadAttention(2, 1),
        aB=weight(3),
        a_b=weight(4),
        A=weight(5),
        _private=weight(6),
        layer_1_B=nn.Linear(1, 1),
    ),
    "a subclass of BatchNorm1d": custom_norm(),
    "one module under two names": shared(),
}


def names(pairs):
    return [name for name, _ in pairs]


print(
    json.dumps(
        {
            name: {
                "state": {key: list(tensor.shape) for key, tensor in module.state_dict().items()},
                "parameters": names(module.named_parameters()),
                "buffers": names(module.named_buffers()),
                "modules": names(module.named_modules()),
            }
            for name, module in MODULES.items()
        },
        indent=1,
        ensure_ascii=False,
    )
)
