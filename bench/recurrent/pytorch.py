"""The passes of ringrun.js in PyTorch: `python3 pytorch.py MODE KIND L N INPUT HIDDEN STEPS`. MODE is one of ../mode.py."""

import json
import sys
import time

import torch
import torch.nn as nn

from mode import Mode, peak_memory

mode, kind = Mode(sys.argv[1]), sys.argv[2]
length, rows, size, hidden, steps = map(int, sys.argv[3:])
torch.set_num_threads(1)
torch.manual_seed(1)
network = getattr(nn, kind)(size, hidden)
compiled = mode.compiled(network)
head = nn.Linear(hidden, 4)
x = torch.sin(torch.arange(length * rows * size).double()).float().reshape(length, rows, size)
classes = torch.arange(rows) % 4


def one_pass():
    for parameter in [*network.parameters(), *head.parameters()]:
        parameter.grad = None
    with mode.autocast():
        loss = nn.functional.cross_entropy(head(compiled(x)[0][-1]), classes)
    loss.backward()
    return loss.item()


created = time.perf_counter()
one_pass()
first = (time.perf_counter() - created) * 1e3
one_pass()
began, used = time.perf_counter(), time.process_time()
for _ in range(steps):
    one_pass()
processor = (time.process_time() - used) * 1e3 / steps
milliseconds = (time.perf_counter() - began) * 1e3 / steps
figures = {"first": first, "milliseconds": milliseconds, "processor": processor, "memory": peak_memory()}
print(json.dumps({"loss": one_pass(), **figures}))
