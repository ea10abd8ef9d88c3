# Models that torch.onnx.export writes, and PyTorch's results, for packages/nn/test/onnx/import/import-onnx.test.ts. Generated with torch
# 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/onnx_models.py > test/golden/onnx_models.json
#
# Writes test/golden/onnx/*.onnx. For each model: outputs in evaluation mode; losses of 4 steps of SGD in training mode, all
# in double precision; outputs in evaluation mode afterwards.

import json
import os
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.onnx import TrainingMode

from common import fill, fill_classes, summary

warnings.simplefilter("ignore")
FOLDER = os.path.join(os.path.dirname(__file__), "onnx")


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, (3, 2), groups=2, stride=2)
        self.bn2 = nn.BatchNorm2d(6, momentum=0.3)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(0.0)
        self.fc = nn.Linear(6, 5)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(image))), 2, ceil_mode=True)
        x = F.hardswish(self.bn2(self.conv2(x)))
        return self.fc(self.dropout(self.pool(x).flatten(1)))


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.places = nn.Embedding(9, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True, activation="gelu")
        self.head = nn.Linear(8, 3)

    def forward(self, tokens, weights):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        states = self.encoder(x)
        pooled = (states * weights.unsqueeze(-1)).sum(1) / weights.sum(1, keepdim=True)
        return self.head(pooled), states


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, 4)
        self.prelu = nn.PReLU(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.inst = nn.InstanceNorm2d(2, affine=True)
        self.out = nn.Conv2d(6, 1, 1)

    def forward(self, image):
        low = self.prelu(self.norm(self.down(image)))
        smooth = F.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)[:, :2]
        blocks = F.interpolate(low, size=image.shape[2:])[:, 2:]
        parts = [self.inst(self.up(low)), smooth + blocks, F.pad(image, (1, -1, 0, 0))]
        return self.out(torch.cat(parts, 1)).squeeze(1).sigmoid()


class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, padding=1)
        self.rows = nn.Linear(4, 6)

    def forward(self, x):
        x = F.leaky_relu(F.avg_pool1d(self.conv(x), 2))
        a, b = self.rows(x.transpose(1, 2)).chunk(2, -1)
        x = torch.where(a > 0, a * torch.tanh(b), torch.clamp(b, -0.5, 0.4))
        return F.log_softmax(x.mean(1), -1) + x.amax((1, 2), keepdim=True).squeeze(1) - x.norm(dim=(1, 2)).unsqueeze(1)


PLAIN = {"do_constant_folding": False}
KEPT = {**PLAIN, "training": TrainingMode.PRESERVE}

# Name: maker, shapes of the inputs ("int64" for classes), names of inputs, names of outputs, export options.
MODELS = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.LayerNorm(7), nn.Linear(7, 3), nn.Softplus()),
        [(4, 5)],
        ["x"],
        ["y"],
        {},
    ),
    "cnn": (Cnn, [(4, 3, 9, 8)], ["image"], ["scores"], KEPT),
    "text": (Text, [(3, 5, "int64"), (3, 5)], ["tokens", "weights"], ["scores", "states"], PLAIN),
    "unet": (Unet, [(2, 2, 8, 6)], ["image"], ["mask"], {"opset_version": 13}),
    "sequences": (Sequences, [(3, 3, 10)], ["x"], ["y"], {**PLAIN, "opset_version": 11}),
    "folded cnn": (Cnn, [(4, 3, 9, 8)], ["image"], ["scores"], {}),
}


def inputs_of(shapes):
    for seed, shape in enumerate(shapes):
        if shape[-1] == "int64":
            yield fill_classes(shape[0] * shape[1], 11, seed).reshape(shape[:2])
        else:
            yield fill(shape, seed) + (1.5 if seed > 0 else 0)


def as_list(outputs):
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def described(outputs):
    return [{"shape": list(output.shape), **summary(output)} for output in outputs]


def case(name, make, shapes, input_names, output_names, options):
    torch.manual_seed(1)
    model = make().eval()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean = fill(part.running_mean.shape, 3)
            part.running_var = fill(part.running_var.shape, 4) + 1.5
    inputs = list(inputs_of(shapes))
    torch.onnx.export(
        model,
        tuple(inputs),
        os.path.join(FOLDER, f"{name.replace(' ', '_')}.onnx"),
        input_names=input_names,
        output_names=output_names,
        dynamic_axes={key: {0: "batch"} for key in input_names},
        **{"opset_version": 17, **options},
    )
    keys = {key: list(value.shape) for key, value in model.state_dict().items() if "num_batches" not in key}
    model = model.double()
    inputs = [x.double() if x.is_floating_point() else x for x in inputs]
    before = as_list(model(*inputs))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model.train()
    losses = []
    for step in range(4):
        optimizer.zero_grad()
        outputs = as_list(model(*inputs))
        targets = [fill(output.shape, 10 + step).double() for output in outputs]
        loss = sum((output - target).square().mean() for output, target in zip(outputs, targets))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return {
        "name": name,
        "inputs": shapes,
        "state": keys,
        "before": described(before),
        "losses": losses,
        "after": described(as_list(model(*inputs))),
    }


os.makedirs(FOLDER, exist_ok=True)
print(json.dumps([case(name, *model) for name, model in MODELS.items()], separators=(",", ":")))
