"""The peer of bench/mnist: Kubeflow's MNIST CNN under PyTorch DDP over gloo, with ringrun's settings.

Start one process per rank, as torchrun would:

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 OMP_NUM_THREADS=1 \
        python3 pytorch_ddp.py --data ../shared/data/mnist

Rank 0 prints one JSON line: seconds of the training epoch, images per second of the job, accuracy.
"""

import argparse
import gzip
import json
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5, 1)
        self.conv2 = nn.Conv2d(20, 50, 5, 1)
        self.fc1 = nn.Linear(4 * 4 * 50, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2, 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2, 2)
        x = F.relu(self.fc1(x.view(-1, 4 * 4 * 50)))
        return F.log_softmax(self.fc2(x), dim=1)


def read_split(directory, prefix):
    with gzip.open(os.path.join(directory, f"{prefix}-images-idx3-ubyte.gz")) as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(os.path.join(directory, f"{prefix}-labels-idx1-ubyte.gz")) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    normalised = (torch.from_numpy(images.copy()).float() / 255 - 0.1307) / 0.3081
    return TensorDataset(normalised, torch.from_numpy(labels.astype(np.int64)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--lr", type=float)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dist.init_process_group("gloo")
    train = read_split(args.data, "train")
    sampler = DistributedSampler(train, seed=args.seed)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler)
    model = DistributedDataParallel(Net())
    lr = args.lr if args.lr is not None else {"sgd": 0.01, "adam": 0.001}[args.optimizer]
    if args.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=args.momentum)

    dist.barrier()
    start = time.perf_counter()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(images), labels)
            loss.backward()
            optimizer.step()
    dist.barrier()
    seconds = time.perf_counter() - start

    if dist.get_rank() == 0:
        test = read_split(args.data, "t10k")
        with torch.no_grad():
            correct = sum(
                (model.module(images).argmax(1) == labels).sum().item()
                for images, labels in DataLoader(test, batch_size=1000)
            )
        print(json.dumps({
            "name": "PyTorch DDP (gloo)",
            "seconds": seconds,
            "imagesPerSec": args.epochs * len(train) / seconds,
            "accuracy": correct / len(test),
        }))
    dist.barrier()


main()
