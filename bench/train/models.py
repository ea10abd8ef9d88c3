"""The models of bench:train in PyTorch: the same as in bench/train/models.js."""

import torch.nn as nn
import torch.nn.functional as F


class MnistCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, images):
        first = F.max_pool2d(F.relu(self.conv1(images)), 2)
        second = F.max_pool2d(F.relu(self.conv2(first)), 2)
        hidden = F.relu(self.fc1(second.flatten(1)))
        return F.log_softmax(self.fc2(hidden), 1)


class CifarCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, images):
        first = F.max_pool2d(F.relu(self.conv1(images)), 2)
        second = F.max_pool2d(F.relu(self.conv2(first)), 2)
        hidden = F.relu(self.fc1(second.flatten(1)))
        return F.log_softmax(self.fc3(F.relu(self.fc2(hidden))), 1)


def conv3x3(before, after, stride):
    return nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = conv3x3(before, after, stride)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = conv3x3(after, after, 1)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = None
        if stride != 1 or before != after:
            self.shortcut = nn.Conv2d(before, after, 1, stride=stride, bias=False)
            self.bn3 = nn.BatchNorm2d(after)

    def forward(self, images):
        hidden = F.relu(self.bn1(self.conv1(images)))
        residual = self.bn2(self.conv2(hidden))
        past = self.bn3(self.shortcut(images)) if self.shortcut else images
        return F.relu(residual + past)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = conv3x3(3, 64, 1)
        self.bn1 = nn.BatchNorm2d(64)
        blocks = []
        before = 64
        for stage, after in enumerate([64, 128, 256, 512]):
            for place in (1, 2):
                blocks.append(BasicBlock(before, after, 2 if place == 1 and stage > 0 else 1))
                before = after
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(512, 10)

    def forward(self, images):
        first = F.relu(self.bn1(self.conv1(images)))
        return F.log_softmax(self.fc(self.blocks(first).mean((2, 3))), 1)


MODELS = {
    "mnist": (MnistCnn, (1, 28, 28)),
    "cifar": (CifarCnn, (3, 32, 32)),
    "resnet18": (ResNet18, (3, 32, 32)),
}
