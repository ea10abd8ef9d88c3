# Sparse gradients of PyTorch's embeddings and the optimizers that take them, for packages/nn/test/optim/sparse-golden.test.ts.
# Written with torch 2.15.0 and numpy 2 (PyPI):
#
#   python3 test/golden/sparse.py > test/golden/sparse.json
#
# Computed in double precision from float32 inputs; elements of tensors are rounded to float32 at the end.

import json
import re
import warnings

import torch
import torch.nn.functional as F

from common import fill, shortest

warnings.filterwarnings("ignore")

ROWS, WIDTH, STEPS, PADDING = 9, 4, 7, 2

# Class and settings.
OPTIMIZERS = [
    ("SGD", dict(lr=0.5)),
    ("SGD", dict(lr=0.2, momentum=0.9)),
    ("SGD", dict(lr=0.2, momentum=0.9, dampening=0.3)),
    ("SGD", dict(lr=0.2, momentum=0.9, nesterov=True)),
    ("Adagrad", dict()),
    ("Adagrad", dict(lr=0.1, lr_decay=0.2, initial_accumulator_value=0.3, eps=1e-3)),
    ("SparseAdam", dict()),
    ("SparseAdam", dict(lr=0.05, betas=(0.7, 0.95), eps=1e-3)),
    ("SparseAdam", dict(lr=0.05, maximize=True)),
]


def camel(name):
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def elements(tensor):
    return [shortest(number) for number in tensor.detach().float().flatten()]


def rows_of(step):
    """Rows with duplicates, of which step 0 reads three, and the padding row."""
    return torch.tensor([[(3 * step + place * place) % ROWS for place in range(3)], [PADDING, step % 4, step % 4]])


def loss_of(weight, step):
    """Lookups, and in some steps bags of the same table."""
    looked = F.embedding(rows_of(step), weight, padding_idx=PADDING, sparse=True)
    loss = (looked * fill((2, 3, WIDTH), 20 + step).double()).pow(2).sum()
    if step % 3 == 1:
        bags = F.embedding_bag(rows_of(step + 1), weight, mode="mean", padding_idx=PADDING, sparse=True)
        loss = loss + (bags - fill((2, WIDTH), 40 + step).double()).pow(2).sum()
    if step % 3 == 2:
        flat, offsets = rows_of(step + 2).flatten(), torch.tensor([0, 1, 1, 4])
        weights = fill((6,), 60 + step).double()
        bags = F.embedding_bag(flat, weight, offsets, mode="sum", per_sample_weights=weights, sparse=True)
        loss = loss + (bags - fill((4, WIDTH), 50 + step).double()).pow(2).sum()
    return loss


def table():
    return torch.nn.Parameter(fill((ROWS, WIDTH), 1).double())


def scaled_case():
    """A dense gradient, divided by the number of look-ups of each row."""
    weight = table()
    looked = F.embedding(rows_of(1), weight, padding_idx=PADDING, scale_grad_by_freq=True)
    (looked * fill((2, 3, WIDTH), 21).double()).pow(2).sum().backward()
    return elements(weight.grad)


def gradient_case(step):
    weight = table()
    loss_of(weight, step).backward()
    grad = weight.grad.coalesce()
    return dict(step=step, indices=grad.indices()[0].tolist(), values=elements(grad.values()))


def optimizer_case(name, settings):
    weight = table()
    optimizer = getattr(torch.optim, name)([weight], **settings)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(weight, step).backward()
        if step == 3:
            # Accumulates.
            loss_of(weight, step + 1).backward()
        optimizer.step()
    states = {}
    for key, value in optimizer.state[weight].items():
        if torch.is_tensor(value):
            value = value.to_dense() if value.is_sparse else value
            states[camel(key)] = elements(value) if value.dim() > 0 else float(value)
        elif value is not None:
            states[camel(key)] = value
    return dict(optimizer=name, settings={camel(key): value for key, value in settings.items()}, parameter=elements(weight), states=states)


if __name__ == "__main__":
    print(
        json.dumps(
            dict(
                scaled=scaled_case(),
                gradients=[gradient_case(step) for step in range(3)],
                optimizers=[optimizer_case(name, settings) for name, settings in OPTIMIZERS],
            )
        )
    )
