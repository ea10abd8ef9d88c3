# Indices that torch samples, for ../distributed-sampler.test.ts. Created with PyTorch 1.13:
#   python3 packages/runtime/test/data/golden/sampler.py
import hashlib
import json
import pathlib

import torch
from torch.utils.data.distributed import DistributedSampler


def randperm(length, seed):
    return torch.randperm(length, generator=torch.Generator().manual_seed(seed)).tolist()


def sha256(indices):
    """Of the indices as uint32, little endian."""
    return hashlib.sha256(b''.join(index.to_bytes(4, 'little') for index in indices)).hexdigest()


def ranks(length, replicas, shuffle, seed, drop_last, epoch):
    """The indices of each rank."""
    samplers = [DistributedSampler(range(length), replicas, rank, shuffle, seed, drop_last) for rank in range(replicas)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    return [list(sampler) for sampler in samplers]


def case(length, replicas, shuffle, seed, drop_last, epoch):
    return {
        'length': length, 'numReplicas': replicas, 'shuffle': shuffle, 'seed': seed, 'dropLast': drop_last, 'epoch': epoch,
        'ranks': ranks(length, replicas, shuffle, seed, drop_last, epoch),
    }


golden = {
    'randperm': [{'length': n, 'seed': seed, 'indices': randperm(n, seed)}
                 for n, seed in [(0, 0), (1, 0), (2, 1), (10, 0), (10, 42), (25, 2**32 - 1), (25, 2**32 + 3), (25, -1), (25, -2**40 - 3)]],
    'randpermHashes': [{'length': n, 'seed': seed, 'sha256': sha256(randperm(n, seed))}
                       for n, seed in [(60000, 0), (60000, 1), (2**20, 7)]],
    'distributed': [case(length, replicas, shuffle, seed, drop_last, epoch)
                    for length, replicas in [(1, 3), (7, 2), (10, 3), (12, 4), (3, 7), (101, 8)]
                    for drop_last in [False, True]
                    for shuffle, seed, epoch in [(False, 0, 0), (True, 0, 0), (True, 5, 3), (True, 2**32 - 1, 7)]]
    + [case(10, 3, True, seed, False, epoch) for seed, epoch in [(2**53 - 1, 2), (2**53 - 1, 2**53 - 2), (-5, 2), (-2**53 + 1, 0)]],
}
pathlib.Path(__file__).with_suffix('.json').write_text(json.dumps(golden))
