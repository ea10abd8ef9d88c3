# The losses of 200 steps of a GPT in float32 and in autocast, for packages/examples-gpt/test/autocast.test.ts. Written with torch 2.15:
#
#   python3 test/golden/autocast_losses.py > test/golden/autocast_losses.json
#
# The model is that of bench/gpt. Parameters come from torch.manual_seed(1), batches from `batch` there, as in the test.

import json
import os
import sys

import torch
import torch.nn as nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/gpt"))
from model import GPT, batch, loss_of, optimizer_of, warmup_and_cosine  # noqa: E402

STEPS = 200
SHAPE = {"vocab_size": 65, "context": 32, "layers": 2, "heads": 4, "width": 64}
BATCH = 6


def train(autocast):
    torch.manual_seed(1)
    model = GPT(**SHAPE)
    optimizer = optimizer_of(model)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmup_and_cosine(step, STEPS, 10))
    losses = []
    for step in range(STEPS):
        tokens, targets = batch(step, 0, BATCH, SHAPE["context"], SHAPE["vocab_size"])
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = loss_of(model, tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(round(loss.item(), 6))
    return losses


torch.set_num_threads(1)
print(json.dumps({"torch": torch.__version__, "float32": train(False), "autocast": train(True)}))
