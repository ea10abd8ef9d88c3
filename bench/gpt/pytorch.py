"""One rank of PyTorch's training step: `python3 pytorch.py MODE BATCH CONTEXT LAYERS WIDTH HEADS STEPS FOLDER`.

MODE is one of ../mode.py. Several ranks use DDP over gloo. Writes FOLDER/RANK.json: the duration of each step and the
processor time of all in ms, and the peak memory in bytes.
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

from mode import Mode, peak_memory
from model import GPT, loss_of, optimizer_of

mode, folder = Mode(sys.argv[1]), sys.argv[-1]
size, context, layers, width, heads, steps = map(int, sys.argv[2:-1])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
model = GPT(vocab_size=65, context=context, layers=layers, heads=heads, width=width)
if dist.get_world_size() > 1:
    model = DistributedDataParallel(model)
trained = mode.compiled(model)
optimizer = optimizer_of(model, **mode.optimizer_options)
batches = [(torch.randint(65, (size, context)), torch.randint(65, (size, context))) for _ in range(4)]


def step(i):
    optimizer.zero_grad()
    with mode.autocast():
        loss = loss_of(trained, *batches[i % len(batches)])
    loss.backward()
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
with open(os.path.join(folder, f"{dist.get_rank()}.json"), "w") as file:
    json.dump({"durations": durations, "processorMs": used, "memory": peak_memory()}, file)
dist.destroy_process_group()
