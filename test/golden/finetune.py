# The network that packages/examples-finetune continues, and PyTorch's results for test/finetune.test.ts. Written with torch 1.13.0 (Debian's python3-torch) and
# safetensors 0.8.0 (PyPI), from the folder of MNIST's four files, in two minutes:
#
#   /usr/bin/python3 test/golden/finetune.py ../shared/data/mnist packages/examples-finetune/digits-0-to-4.safetensors > test/golden/finetune.json
#
# A ResNet is trained on the digits 0 to 4. The file has bfloat16 weights of convolutions, a float16 bias, float32 statistics, int64 counts of batches, a bool
# mask and uint8 and int32 tensors, and the head of the five digits, which fine-tuning replaces. The JSON has the output of the loaded network for one input.

import gzip
import json
import sys

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from common import fill


class Block(nn.Module):
    def __init__(self, given, made, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(given, made, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(made)
        self.conv2 = nn.Conv2d(made, made, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(made)
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = Block(16, 16, 1)
        self.layer2 = Block(16, 32, 2)
        self.layer3 = Block(32, 64, 2)
        self.fc = nn.Linear(64, 5)

    def features(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.layer3(self.layer2(self.layer1(x))).mean((2, 3))

    def forward(self, x):
        return self.fc(self.features(x))


def mnist(folder, split, count):
    with gzip.open(f"{folder}/{split}-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)[:count]
    with gzip.open(f"{folder}/{split}-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)[:count]
    known = labels < 5
    return (torch.tensor(images[known]) / 255 - 0.1307) / 0.3081, torch.tensor(labels[known]).long()


folder, path = sys.argv[1:]
torch.manual_seed(1)
images, labels = mnist(folder, "train", 20000)
net = ResNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(2):
    for batch in torch.randperm(len(labels)).split(64):
        optimizer.zero_grad()
        F.cross_entropy(net(images[batch]), labels[batch]).backward()
        optimizer.step()
net.eval()
with torch.no_grad():
    images, labels = mnist(folder, "t10k", 2000)
    print(f"accuracy {(net(images).argmax(1) == labels).float().mean():.4f}", file=sys.stderr)

stored = {key: value.to(torch.bfloat16) if value.dim() == 4 else value for key, value in net.state_dict().items()}
stored["bn1.bias"] = stored["bn1.bias"].to(torch.float16)
assert stored["bn1.num_batches_tracked"].dtype == torch.int64
# Values that training scripts store next to the weights.
stored["seen"] = torch.arange(10) < 5
stored["palette"] = torch.arange(4, dtype=torch.uint8)
stored["epochs"] = torch.tensor([2], dtype=torch.int32)
save_file(stored, path, metadata={"format": "pt"})

loaded = ResNet()
loaded.load_state_dict(load_file(path), strict=False)
loaded.eval()
with torch.no_grad():
    print(json.dumps({"features": loaded.features(fill((2, 1, 28, 28), 1)).flatten().tolist()}, separators=(",", ":")))
