"""A peer of the comparison, a worker of bench/worker.js: `python3 peer.py NAME MODE DTYPE FORM`.

MODE: eager; compile, torch.compile with reduce-overhead; graph, the whole step captured as one CUDA graph by hand;
graph-channels-last, the same with images and weights in channels_last; jax, one jitted step. DTYPE: float32, with TF32 in
convolutions alone, or bfloat16, by autocast. FORM: full or short. Each step copies a batch from page-locked
memory, as ringrun's does. Answers {"steps": N} with {"ms": ...}, of one step.
"""

import math
import sys
import time

import numpy as np

from answers import answer_lines

SIZES = {"mnist": (64, (1, 28, 28)), "cifar": (64, (3, 32, 32)), "resnet18": (128, (3, 32, 32)), "gpt": (32, None)}
GPT = dict(vocab_size=65, context=256, layers=6, heads=6, width=384)
SHORT_GPT = dict(vocab_size=65, context=8, layers=1, heads=2, width=16)


def batch_of(name, seed, short):
    """The batches of trainings.js."""
    size, shape = SIZES[name]
    if short:
        size = 2
    if name == "gpt":
        config = SHORT_GPT if short else GPT
        count = size * config["context"]
        tokens = [((np.arange(count) + shift) * 7 + seed) % config["vocab_size"] for shift in (0, 1)]
        return [part.reshape(size, -1).astype(np.int64) for part in tokens]
    images = np.sin(np.arange(size * math.prod(shape)) * 12.9898 + seed).astype(np.float32)
    return images.reshape(size, *shape), ((np.arange(size) * 7 + seed) % 10).astype(np.int64)


def torch_steps(name, mode, dtype, short):
    import torch
    import torch.nn.functional as F

    from models import MODELS

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    on_gpu = device.type == "cuda"
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    is_last = mode == "graph-channels-last"
    if name == "gpt":
        from model import GPT as Model

        model = Model(**(SHORT_GPT if short else GPT)).to(device)
        fused = dict(fused=True) if on_gpu else {}
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, capturable=on_gpu, **fused
        )
    else:
        model = MODELS[name][0]().to(device)
        if is_last:
            model = model.to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=on_gpu)
    batches = [[torch.from_numpy(part) for part in batch_of(name, seed, short)] for seed in range(4)]
    if on_gpu:
        batches = [[part.pin_memory() for part in batch] for batch in batches]
    x, y = (part.to(device) for part in batches[0])
    if is_last:
        x = x.to(memory_format=torch.channels_last)

    def loss_of(x, y):
        with torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bfloat16"):
            scores = model(x)
            # The CNNs end with log_softmax, which cross_entropy leaves as it is.
            return F.cross_entropy(scores.flatten(0, -2), y.flatten())

    compiled = torch.compile(loss_of, mode="reduce-overhead") if mode == "compile" else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = compiled(x, y)
        loss.backward()
        optimizer.step()
        return loss

    replay = step
    if mode.startswith("graph"):
        if not on_gpu:
            raise RuntimeError("CUDA graphs need a GPU")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = step()

        def replay():
            graph.replay()
            return captured

    def run(steps):
        for i in range(steps):
            for to, part in zip((x, y), batches[i % 4]):
                to.copy_(part, non_blocking=True)
            loss = replay()
        loss.item()

    return run


def jax_steps(name, _, dtype, short):
    import jax

    from jax_models import training

    # Not of convolutions (jax_models.py).
    jax.config.update("jax_default_matmul_precision", "highest" if dtype == "float32" else "default")
    state, step = training(name, dtype, SHORT_GPT if short else GPT)
    step = jax.jit(step, donate_argnums=0)
    batches = [batch_of(name, seed, short) for seed in range(4)]

    def run(steps):
        nonlocal state
        for i in range(steps):
            state, loss = step(state, *(jax.device_put(part) for part in batches[i % 4]))
        float(loss)

    return run


def main():
    name, mode, dtype, form = sys.argv[1:]
    run = (jax_steps if mode == "jax" else torch_steps)(name, mode, dtype, form == "short")
    run(4)

    def answer(question):
        start = time.perf_counter()
        run(question["steps"])
        return {"ms": (time.perf_counter() - start) * 1e3 / question["steps"]}

    answer_lines(answer)


main()
