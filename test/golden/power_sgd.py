# PyTorch's results for test/ddp-hooks.test.ts. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/power_sgd.py > test/golden/power_sgd.json
#
# Averages of two ranks by powerSGD_hook over three steps, with error feedback and warm start from given factors Q, and the
# error of each rank after the last step.

import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

from common import fill, shortest

RANKS = 2
STEPS = 3
# A matrix, a convolution's weight, a bias and a matrix that is too small to compress.
SHAPES = [(24, 17), (6, 2, 3, 3), (24,), (3, 4)]


class Bucket:
    def __init__(self, step, rank):
        parts = [fill(shape, 10 * step + 3 * rank + i) for i, shape in enumerate(SHAPES)]
        self.data = torch.cat([part.reshape(-1) for part in parts])

    def index(self):
        return 0

    def is_last(self):
        return True

    def buffer(self):
        return self.data

    def gradients(self):
        parts = self.data.split([torch.Size(shape).numel() for shape in SHAPES])
        return [part.view(shape) for part, shape in zip(parts, SHAPES)]


def compressed(approximation_rank):
    """[rows, columns] of the gradients that are compressed."""
    matrices = [(shape[0], torch.Size(shape[1:]).numel()) for shape in SHAPES]
    return [(n, m) for n, m in matrices if (n + m) * min(n, m, approximation_rank) * 2 < n * m]


def numbers(tensor):
    return [shortest(number) for number in tensor.tolist()]


def run(rank, approximation_rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    state = PowerSGDState(None, matrix_approximation_rank=approximation_rank, start_powerSGD_iter=2)
    state.iter = 2
    matrices = compressed(approximation_rank)
    state.p_memory_dict[0] = torch.zeros(sum(n for n, _ in matrices) * approximation_rank)
    state.q_memory_dict[0] = torch.cat([fill((m * approximation_rank,), 5 + i) for i, (_, m) in enumerate(matrices)])
    averages = [numbers(powerSGD_hook(state, Bucket(step, rank)).wait()) for step in range(STEPS)]
    # The error of an exact average is this rank's gradient minus the average, which has no effect on the next average.
    sizes = [torch.Size(shape).numel() for shape in SHAPES]
    errors = state.error_dict[0].split(sizes)
    kept = [error for error, shape in zip(errors, SHAPES) if (shape[0], error.numel() // shape[0]) in matrices]
    with open(f"{folder}/rank-{rank}.json", "w") as file:
        json.dump({"averages": averages, "errors": numbers(torch.cat(kept))}, file)
    dist.barrier()
    dist.destroy_process_group()


def case(approximation_rank):
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, (approximation_rank, folder), RANKS)
        ranks = [json.load(open(f"{folder}/rank-{rank}.json")) for rank in range(RANKS)]
    return {"rank": approximation_rank, "averages": ranks[0]["averages"], "errors": [one["errors"] for one in ranks]}


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    print(json.dumps([case(1), case(2), case(4)], separators=(",", ":")))
