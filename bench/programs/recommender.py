"""A recommender: a matrix factorization with sparse gradients of its embeddings. Its counterpart is recommender.ts."""

import torch
import torch.nn.functional as F
from torch import nn, optim

USERS, ITEMS = 5000, 2000


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, 32, sparse=True)
        self.item = nn.Embedding(ITEMS, 32, sparse=True)
        self.bias = nn.Embedding(ITEMS, 1, sparse=True)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(1) + self.bias(item).squeeze(1)


def start():
    torch.manual_seed(13)
    model = Recommender()
    for table in (model.user, model.item, model.bias):
        nn.init.normal_(table.weight, std=0.1)
    optimizer = optim.SparseAdam(model.parameters(), lr=0.02)
    # A part of all pairs, which returns, so that few steps learn them.
    of_user, of_item = torch.randint(0, USERS, (2048,)), torch.randint(0, ITEMS, (2048,))
    ratings = (of_user % 3 == of_item % 3).float()
    at = 0

    def step():
        nonlocal at
        rows = slice(at, at + 512)
        at = (at + 512) % 2048
        optimizer.zero_grad()
        scores = model(of_user[rows], of_item[rows])
        loss = F.binary_cross_entropy_with_logits(scores, ratings[rows])
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, None
