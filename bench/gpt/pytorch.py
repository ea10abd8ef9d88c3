"""One rank of PyTorch's training step under DDP over gloo: `python3 pytorch.py MODE BATCH CONTEXT STEPS FOLDER`.

MODE is eager or compile, with +fused for AdamW's fused update. Writes FOLDER/RANK.json: the duration of each step and the
processor time of all, in ms.
"""

import json
import os
import resource
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

from model import GPT, loss_of, optimizer_of

mode, folder = sys.argv[1], sys.argv[5]
size, context, steps = map(int, sys.argv[2:5])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(GPT(vocab_size=65, context=context, layers=4, heads=4, width=128))
trained = torch.compile(model) if "compile" in mode else model
optimizer = optimizer_of(model, **({"fused": True} if "fused" in mode else {}))
batches = [(torch.randint(65, (size, context)), torch.randint(65, (size, context))) for _ in range(4)]


def step(i):
    optimizer.zero_grad()
    loss_of(trained, *batches[i % len(batches)]).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def processor_ms():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e3


for i in range(max(2, min(50, steps // 4))):
    step(i)
dist.barrier()
durations = []
since = processor_ms()
for i in range(steps):
    start = time.perf_counter()
    step(i)
    durations.append((time.perf_counter() - start) * 1e3)
used = processor_ms() - since
dist.barrier()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
with open(os.path.join(folder, f"{dist.get_rank()}.json"), "w") as file:
    json.dump({"durations": durations, "processorMs": used, "memory": memory}, file)
dist.destroy_process_group()
