# First losses and scores of bench/programs in PyTorch, for test/programs.test.ts. Written with torch 2.15:
#
#   OMP_NUM_THREADS=1 python3 test/golden/programs.py > test/golden/programs.json

import importlib
import json
import os
import socket
import sys

import torch
import torch.multiprocessing as multiprocessing

folder = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(folder, "../../bench/programs"))

STEPS = {
    "accumulation": 16,
    "dqn": 200,
    "f1": 60,
    "gan": 120,
    "jsonlines": 16,
    "lora": 60,
    "multitask": 60,
    "recommender": 24,
    "reinforce": 40,
    "seq2seq": 60,
    "sweep": 12,
    "tabular": 10,
    "transfer": 30,
    "vit": 20,
}
RANKS = {"f1": 2}
FIRST = 6


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def train(rank, name, port, results):
    torch.set_num_threads(1)
    if name in RANKS:
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS[name]), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    step, score = importlib.import_module(name).start()
    losses = [step() for _ in range(STEPS[name])]
    if rank == 0:
        last = score() if score else losses[-1]
        results[name] = {"steps": STEPS[name], "losses": [round(loss, 7) for loss in losses[:FIRST]], "score": round(last, 5)}


def main():
    with multiprocessing.Manager() as manager:
        results = manager.dict()
        for name in STEPS:
            multiprocessing.spawn(train, (name, free_port(), results), nprocs=RANKS.get(name, 1))
        print(json.dumps(dict(results), indent=2))


if __name__ == "__main__":
    main()
