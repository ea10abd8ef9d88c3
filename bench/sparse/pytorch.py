"""The steps of ringrun.js in PyTorch: `python3 pytorch.py KIND OPTIMIZER ROWS WIDTH BATCH LENGTH STEPS`."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn

from mode import peak_memory

kind, name = sys.argv[1:3]
rows, width, batch, length, steps = map(int, sys.argv[3:])
torch.set_num_threads(1)
is_distributed = "WORLD_SIZE" in os.environ
if is_distributed:
    dist.init_process_group("gloo")
rank = dist.get_rank() if is_distributed else 0
torch.manual_seed(1)
table = nn.Embedding(rows, width, sparse=kind == "sparse")
model = nn.parallel.DistributedDataParallel(table) if is_distributed else table
optimizer = getattr(torch.optim, name)(table.parameters(), lr=0.01)
target = torch.full((batch, width), 0.5)
state = 1 + rank


def random():
    global state
    state = state * 48271 % 2147483647
    return state % rows


batches = [torch.tensor([random() for _ in range(batch * length)]).reshape(batch, length) for _ in range(8)]


def step(indices):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(indices).mean(1), target)
    loss.backward()
    optimizer.step()
    return loss


created = time.perf_counter()
step(batches[0])
first = (time.perf_counter() - created) * 1e3
step(batches[1])
began, used = time.perf_counter(), time.process_time()
for at in range(steps):
    loss = step(batches[at % 8])
processor = (time.process_time() - used) * 1e3 / steps
milliseconds = (time.perf_counter() - began) * 1e3 / steps
figures = {"loss": loss.item(), "first": first, "milliseconds": milliseconds, "processor": processor, "memory": peak_memory()}
if is_distributed:
    dist.destroy_process_group()
if rank == 0:
    print(json.dumps(figures))
