# PyTorch's results for packages/nn/test/init/init-golden.test.ts. Generated with torch 2.15.0:
#
#   python3 test/golden/init.py > test/golden/init.json
#
# Parameters that torch.nn.init fills after torch.manual_seed(3).

import json

import torch
from torch.nn import init

CASES = {
    "uniform": ((3, 7), lambda w: init.uniform_(w, -2, 0.5)),
    "uniform, default": ((2, 3), lambda w: init.uniform_(w)),
    "normal": ((5, 7), lambda w: init.normal_(w, 0.3, 2)),
    "normal of few": ((7,), lambda w: init.normal_(w)),
    "truncNormal": ((5, 7), lambda w: init.trunc_normal_(w)),
    "truncNormal with options": ((4, 5), lambda w: init.trunc_normal_(w, 0.5, 0.4, 0.1, 1.5)),
    "truncNormal of few": ((7,), lambda w: init.trunc_normal_(w, 0, 0.02, -0.02, 0.02)),
    "truncNormal of a tail": ((9, 5), lambda w: init.trunc_normal_(w, 0, 1, 2, 4)),
    "truncNormal of a narrow part": ((40,), lambda w: init.trunc_normal_(w, 3, 0.5, -1, 1)),
    "constant": ((3,), lambda w: init.constant_(w, 0.3)),
    "ones": ((2, 2), lambda w: init.ones_(w)),
    "zeros": ((2, 2), lambda w: init.zeros_(w)),
    "eye": ((3, 4), lambda w: init.eye_(w)),
    "dirac": ((3, 4, 3, 3), lambda w: init.dirac_(w)),
    "dirac of groups": ((4, 1, 3), lambda w: init.dirac_(w, 2)),
    "dirac of volumes": ((3, 2, 2, 1, 3), lambda w: init.dirac_(w)),
    "xavierUniform": ((3, 5), lambda w: init.xavier_uniform_(w)),
    "xavierUniform with gain": ((3, 2, 3, 3), lambda w: init.xavier_uniform_(w, 1.7)),
    "xavierNormal": ((3, 5, 2), lambda w: init.xavier_normal_(w, init.calculate_gain("tanh"))),
    "kaimingUniform": ((3, 5), lambda w: init.kaiming_uniform_(w)),
    "kaimingUniform with options": (
        (3, 2, 3, 3),
        lambda w: init.kaiming_uniform_(w, a=0.2, mode="fan_out", nonlinearity="leaky_relu"),
    ),
    "kaimingNormal": ((3, 2, 3, 3), lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu")),
    "orthogonal": ((4, 7), lambda w: init.orthogonal_(w)),
    "orthogonal of more rows": ((7, 2, 2), lambda w: init.orthogonal_(w, 0.7)),
    "sparse": ((7, 3), lambda w: init.sparse_(w, 0.4)),
    "sparse with std": ((5, 4), lambda w: init.sparse_(w, 0.5, 2)),
}


def case(name):
    shape, fill = CASES[name]
    torch.manual_seed(3)
    weight = torch.empty(shape)
    fill(weight)
    return {"name": name, "shape": shape, "data": weight.flatten().tolist()}


GAINS = [("linear",), ("conv2d",), ("sigmoid",), ("tanh",), ("relu",), ("leaky_relu",), ("leaky_relu", 0.3), ("selu",)]
gains = [{**dict(zip(("nonlinearity", "param"), gain)), "gain": init.calculate_gain(*gain)} for gain in GAINS]
print(json.dumps({"cases": [case(name) for name in CASES], "gains": gains}, separators=(",", ":")))
