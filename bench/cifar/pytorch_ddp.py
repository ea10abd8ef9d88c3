"""The peer of examples-cifar: its models under PyTorch DDP over gloo, with ringrun's settings.

Start one process per rank, as torchrun would:

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 OMP_NUM_THREADS=1 \
        python3 pytorch_ddp.py --data ../shared/data/cifar10/cifar-10-binary-sample.tar.gz --model cnn

Rank 0 prints a JSON line for each epoch: seconds of training so far, test accuracy.
"""

import argparse
import json
import os
import sys
import tarfile
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "train"))
from models import MODELS  # noqa: E402

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
STD = torch.tensor([0.247, 0.2435, 0.2616]).view(1, 3, 1, 1)


def read_split(archive, wanted):
    with tarfile.open(archive) as tar:
        members = sorted((m for m in tar.getmembers() if wanted in m.name), key=lambda m: m.name)
        parts = [np.frombuffer(tar.extractfile(m).read(), np.uint8).reshape(-1, 3073) for m in members]
    records = np.concatenate(parts)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy()).float() / 255
    return TensorDataset((images - MEAN) / STD, torch.from_numpy(records[:, 0].astype(np.int64)))


def accuracy(model, test):
    model.eval()
    with torch.no_grad():
        correct = sum(
            (model(images).argmax(1) == labels).sum().item() for images, labels in DataLoader(test, batch_size=250)
        )
    model.train()
    return correct / len(test)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--model", choices=["cnn", "resnet18"], default="cnn")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dist.init_process_group("gloo")
    train = read_split(args.data, "data_batch_")
    sampler = DistributedSampler(train, seed=args.seed)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler)
    create, _ = MODELS[{"cnn": "cifar"}.get(args.model, args.model)]
    model = DistributedDataParallel(create())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    test = read_split(args.data, "test_batch")

    seconds = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        dist.barrier()
        start = time.perf_counter()
        for images, labels in loader:
            optimizer.zero_grad()
            F.nll_loss(model(images), labels).backward()
            optimizer.step()
        dist.barrier()
        seconds += time.perf_counter() - start
        if dist.get_rank() == 0:
            line = {"name": "PyTorch DDP (gloo)", "model": args.model, "epoch": epoch + 1}
            print(json.dumps({**line, "seconds": seconds, "accuracy": accuracy(model.module, test)}), flush=True)
    dist.barrier()


main()
