# The losses of PyTorch DDP on two ranks in double precision, for test/parity.test.ts. Written with torch 1.13.0 and numpy 1.24 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/ddp_losses.py > test/golden/ddp_losses.json
#
# The models are those of bench/train. Parameters come from torch.manual_seed(1), data from the formulas below, as in test/parity.script.ts.

import json
import os
import socket
import sys

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/train"))
from models import MODELS  # noqa: E402

RANKS = 2
BATCH = 64
STEPS = 50
# With these rates PyTorch in single precision stays within 4e-6 of these losses. With higher ones, a relu or a maximum
# decided by the last bit makes two implementations, or two precisions of PyTorch, diverge: by 1e-2 after 50 steps of SGD
# with a rate of 0.05.
OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.5),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.0001),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.0001, weight_decay=0.5),
}


def batch(shape, seed):
    """Irregular numbers in [-1, 1). Two rows of each image are brighter, and their position is the class."""
    count = BATCH * int(np.prod(shape))
    place = np.arange(1, count + 1, dtype=np.int64)
    values = (place * (7919 + 104 * seed) % 10007) / 5003.5 - 1
    images = torch.from_numpy(values.astype(np.float32).reshape(BATCH, *shape))
    classes = torch.from_numpy((7 * np.arange(BATCH) + seed) % 10)
    for image, label in zip(images, classes.tolist()):
        image[0, 2 * label : 2 * label + 2] += 1.5
    return images, classes


def train(rank, port, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(RANKS))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in ("mnist", "cifar"):
        create, shape = MODELS[name]
        for optimizer_name, make in OPTIMIZERS.items():
            torch.manual_seed(1)
            model = DistributedDataParallel(create().double())
            optimizer = make(model.parameters())
            losses = []
            for step in range(STEPS):
                images, classes = batch(shape, RANKS * step + rank)
                optimizer.zero_grad()
                loss = F.nll_loss(model(images.double()), classes)
                loss.backward()
                optimizer.step()
                losses.append(float(str(np.float32(loss.item()))))
            results[(name, optimizer_name, rank)] = losses
    dist.destroy_process_group()


def main():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with multiprocessing.Manager() as manager:
        results = manager.dict()
        multiprocessing.spawn(train, (port, results), nprocs=RANKS)
        found = {
            name: {
                optimizer: [results[(name, optimizer, rank)] for rank in range(RANKS)] for optimizer in OPTIMIZERS
            }
            for name in ("mnist", "cifar")
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
