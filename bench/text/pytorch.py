"""One rank of PyTorch's training of packages/examples-text under DDP over gloo: `python3 pytorch.py MODE FILE`.

MODE is one of ../mode.py. FILE is what bench/text/run.js writes. Rank 0 prints JSON: the accuracy on the texts that were
held back, and of the epochs after the first, in which programs are compiled, the tokens, the seconds, the processor seconds
of all ranks, and of rank 0 the growth of the resident memory in MiB and the peak in bytes.
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
from torch.utils.data import DataLoader, DistributedSampler

from mode import Mode, peak_memory
from models import model_of

mode, file = Mode(sys.argv[1]), sys.argv[2]
with open(file) as text:
    task = json.load(text)
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()


def collate(samples):
    """Padded to the smallest of the lengths, as padTo does."""
    longest = max(len(tokens) for tokens, _ in samples)
    length = next(one for one in task["lengths"] if one >= longest)
    tokens = torch.zeros(len(samples), length, dtype=torch.int64)
    for row, (words, _) in enumerate(samples):
        tokens[row, : len(words)] = torch.tensor(words)
    return tokens, torch.tensor([label for _, label in samples])


def resident_mib():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() / 2**20


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


torch.manual_seed(task["seed"])
model = DistributedDataParallel(model_of(task["model"], task["vocabSize"], task["classes"], task["lengths"][-1]))
trained = mode.compiled(model)
optimizer = torch.optim.Adam(model.parameters(), lr=task["lr"], **mode.optimizer_options)
sampler = DistributedSampler(task["train"], seed=task["seed"])
loader = DataLoader(task["train"], task["batchSize"] // ranks, sampler=sampler, collate_fn=collate)
tokens = 0
for epoch in range(task["epochs"]):
    sampler.set_epoch(epoch)
    if epoch == 1:
        dist.barrier()
        began, used, resident = time.perf_counter(), processor_seconds(), resident_mib()
    for words, labels in loader:
        optimizer.zero_grad()
        with mode.autocast():
            loss = F.cross_entropy(trained(words), labels)
        loss.backward()
        optimizer.step()
        if epoch > 0:
            tokens += int((words != 0).sum())
dist.barrier()
sums = torch.tensor([tokens, processor_seconds() - used, 0], dtype=torch.float64)
seconds = time.perf_counter() - began
growth = resident_mib() - resident
share = [task["heldBack"][i] for i in range(rank, len(task["heldBack"]), ranks)]
with torch.no_grad():
    model.module.eval()
    for words, labels in DataLoader(share, 64, collate_fn=collate):
        sums[2] += (model.module(words).argmax(1) == labels).sum()
dist.all_reduce(sums)
if rank == 0:
    total, processor, right = sums.tolist()
    accuracy = right / len(task["heldBack"])
    result = {"tokens": total, "seconds": seconds, "processorSeconds": processor, "growth": growth, "accuracy": accuracy}
    print(json.dumps({**result, "memory": peak_memory()}), flush=True)
dist.barrier()
# Without destructors: gloo's threads abort some processes that end normally ("terminate called without an active exception").
os._exit(0)
