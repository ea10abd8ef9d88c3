# The losses of a GPT under PyTorch DDP on two ranks in double precision, for test/gpt.test.ts. Written with torch 1.13.0 and numpy 1.24 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/gpt_losses.py > test/golden/gpt_losses.json
#
# The model is that of bench/gpt. Parameters come from torch.manual_seed(1), batches from `batch` there, as in test/gpt.script.ts.

import json
import os
import sys
import tempfile

import torch
import torch.multiprocessing as multiprocessing
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/gpt"))
from model import GPT, batch, loss_of, optimizer_of, warmup_and_cosine  # noqa: E402

RANKS = 2
STEPS = 50
SHAPE = {"vocab_size": 65, "context": 64, "layers": 4, "heads": 4, "width": 128}
BATCH = 6


def train(rank, folder, results):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT(**SHAPE).double())
    optimizer = optimizer_of(model)
    # A short warmup, so that most steps have a high rate.
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmup_and_cosine(step, STEPS, 10))
    losses = []
    for step in range(STEPS):
        tokens, targets = batch(step, rank, BATCH, SHAPE["context"], SHAPE["vocab_size"])
        optimizer.zero_grad()
        loss = loss_of(model, tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(round(loss.item(), 7))
    results[rank] = losses
    torch.distributed.destroy_process_group()


def main():
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Manager() as manager:
        results = manager.dict()
        multiprocessing.spawn(train, (folder, results), nprocs=RANKS)
        print(json.dumps([results[rank] for rank in range(RANKS)]))


if __name__ == "__main__":
    main()
