"""One rank of PyTorch's training step under DDP over gloo: `python3 pytorch.py MODE MODEL BATCH WARM-UP STEPS FOLDER`.

MODE is one of ../mode.py. Writes FOLDER/RANK.json: when each step began and ended,
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

from mode import Mode, peak_memory
from models import MODELS

mode, name, folder = Mode(sys.argv[1]), sys.argv[2], sys.argv[6]
batch, warm_up, steps = (int(number) for number in sys.argv[3:6])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
create, shape = MODELS[name]
model = create().to(memory_format=mode.layout)
if dist.get_world_size() > 1:
    model = DistributedDataParallel(model)
trained = mode.compiled(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5, **mode.optimizer_options)
batches = [
    (torch.randn(batch, *shape).to(memory_format=mode.layout), torch.randint(10, (batch,))) for _ in range(4)
]


def step(i):
    images, classes = batches[i % len(batches)]
    optimizer.zero_grad()
    with mode.autocast():
        loss = F.nll_loss(trained(images), classes)
    loss.backward()
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
    "memory": peak_memory(),
}
with open(os.path.join(folder, f"{dist.get_rank()}.json"), "w") as file:
    json.dump(report, file)
# Without destructors: gloo's threads abort some processes that end normally ("terminate called without an active exception").
os._exit(0)
