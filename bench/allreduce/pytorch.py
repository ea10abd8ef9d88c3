"""One rank of PyTorch's all-reduce: `python3 pytorch.py gloo|ucc bytes:repetitions …`.

Expects RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 prints a JSON line per size.
"""

import json
import sys
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group(sys.argv[1])
for step in sys.argv[2:]:
    size, repetitions = map(int, step.split(":"))
    tensor = torch.zeros(size // 4)
    times = []
    for i in range(-min(20, repetitions), repetitions):
        start = time.perf_counter()
        dist.all_reduce(tensor)
        if i >= 0:
            times.append((time.perf_counter() - start) * 1e6)
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps({"bytes": size, "times": times}), flush=True)
# Without it PyTorch 2.15 aborts at exit.
dist.destroy_process_group()
