"""One rank of PyTorch's training step under DDP over gloo: `python3 pytorch.py MODEL BATCH STEPS`.

Rank 0 prints a JSON line with the milliseconds of each step.
"""

import json
import resource
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from models import MODELS

name, batch, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
create, shape = MODELS[name]
model = DistributedDataParallel(create())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
batches = [(torch.randn(batch, *shape), torch.randint(10, (batch,))) for _ in range(4)]
times = []
for step in range(-max(3, steps // 10), steps):
    images, classes = batches[step % len(batches)]
    start = time.perf_counter()
    optimizer.zero_grad()
    F.nll_loss(model(images), classes).backward()
    optimizer.step()
    if step >= 0:
        times.append((time.perf_counter() - start) * 1e3)
dist.barrier()
if dist.get_rank() == 0:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"times": times, "computeMs": None, "waitMs": None, "memory": memory}), flush=True)
