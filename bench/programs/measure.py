"""The steps of measure.ts in PyTorch: `python3 measure.py NAME STEPS`."""

import importlib
import json
import math
import sys
import time

import torch
import torch.distributed as dist

from mode import peak_memory

name, steps = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
step, score = importlib.import_module(name).start()
created = time.perf_counter()
losses = [step()]
first = (time.perf_counter() - created) * 1e3
warm_up = math.ceil(steps / 4)
while len(losses) < warm_up:
    losses.append(step())
began, used = time.perf_counter(), time.process_time()
while len(losses) < steps:
    losses.append(step())
processor = (time.process_time() - used) * 1e3 / (steps - warm_up)
milliseconds = (time.perf_counter() - began) * 1e3 / (steps - warm_up)
figures = {"first": first, "milliseconds": milliseconds, "processor": processor, "memory": peak_memory()}
result = {**figures, "score": score() if score else losses[-1], "losses": losses}
is_first = not dist.is_initialized() or dist.get_rank() == 0
if dist.is_initialized():
    dist.destroy_process_group()
if is_first:
    print(json.dumps(result))
