"""One rank of PyTorch's training step under DDP over gloo: `python3 pytorch.py MODE MODEL BATCH WARM-UP STEPS FOLDER`.

MODE is eager, channels_last, compile or compile+channels_last. Writes FOLDER/RANK.json: when each step began and ended,
in nanoseconds, and what the process used for the measured steps.
"""

import json
import os
import resource
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from models import MODELS

mode, name, folder = sys.argv[1], sys.argv[2], sys.argv[6]
batch, warm_up, steps = (int(number) for number in sys.argv[3:6])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
create, shape = MODELS[name]
layout = torch.channels_last if "channels_last" in mode else torch.contiguous_format
model = DistributedDataParallel(create().to(memory_format=layout))
trained = torch.compile(model) if "compile" in mode else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
batches = [
    (torch.randn(batch, *shape).to(memory_format=layout), torch.randint(10, (batch,))) for _ in range(4)
]


def step(i):
    images, classes = batches[i % len(batches)]
    optimizer.zero_grad()
    F.nll_loss(trained(images), classes).backward()
    optimizer.step()


for i in range(warm_up):
    step(i)
dist.barrier()
started, ended = [], []
since = resource.getrusage(resource.RUSAGE_SELF)
for i in range(steps):
    started.append(time.monotonic_ns())
    step(i)
    ended.append(time.monotonic_ns())
used = resource.getrusage(resource.RUSAGE_SELF)
dist.barrier()
report = {
    "startedAt": started,
    "endedAt": ended,
    "processorMs": (used.ru_utime + used.ru_stime - since.ru_utime - since.ru_stime) * 1e3,
    "minorFaults": used.ru_minflt - since.ru_minflt,
    "majorFaults": used.ru_majflt - since.ru_majflt,
    "memory": used.ru_maxrss * 1024,
}
with open(os.path.join(folder, f"{dist.get_rank()}.json"), "w") as file:
    json.dump(report, file)
# Without destructors: gloo's threads abort some processes that end normally ("terminate called without an active exception").
os._exit(0)
