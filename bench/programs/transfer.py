"""Transfer learning: a frozen backbone with a new head. Its counterpart is transfer.ts."""

import torch
import torch.nn.functional as F
from torch import nn, optim


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32 * 16, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(x.flatten(1))


def start():
    torch.manual_seed(6)
    pretrained = Net()
    model = Net()
    model.load_state_dict(pretrained.state_dict())
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, 5)
    model.eval()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = optim.SGD(trained, lr=0.01, momentum=0.9)
    patterns = torch.randn(5, 1, 16, 16)

    def step():
        labels = torch.randint(0, 5, (32,))
        images = patterns[labels] + torch.randn(32, 1, 16, 16)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, None
