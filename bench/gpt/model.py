"""The GPT of packages/examples-gpt in PyTorch, with the same initial parameters after torch.manual_seed."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

WARMUP = 100


class LayerNorm(nn.Module):
    """Without a bias, which nn.LayerNorm of torch 1.13 always has."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight)


def attend(query, key, value):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ value


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.attention_proj = nn.Linear(width, width, bias=False)
        self.ln2 = LayerNorm(width)
        self.hidden = nn.Linear(width, 4 * width, bias=False)
        self.hidden_proj = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        n, length, width = x.shape
        heads = [
            part.view(n, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.ln1(x)).chunk(3, -1)
        ]
        attended = attend(*heads).transpose(1, 2).reshape(n, length, width)
        x = x + self.attention_proj(attended)
        return x + self.hidden_proj(F.gelu(self.hidden(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, vocab_size, context, layers, heads, width):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = LayerNorm(width)
        for name, parameter in self.named_parameters():
            std = 0.02 / math.sqrt(2 * layers) if name.endswith("proj.weight") else 0.02
            if parameter.dim() == 2:
                nn.init.normal_(parameter, 0, std)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def loss_of(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def optimizer_of(model, **options):
    """AdamW that does not decay vectors."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, **options)


def warmup_and_cosine(step, steps, warmup=WARMUP):
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = min(1, (step - warmup) / max(1, steps - warmup))
    return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))


def batch(step, rank, batch_size, context, vocab_size):
    """Tokens of a rank and those that follow: some repeat, so that there is something to learn."""
    place = np.arange(batch_size * (context + 1), dtype=np.int64).reshape(batch_size, context + 1)
    seed = 2 * step + rank
    tokens = torch.from_numpy((place * (7 + seed % 5) + seed * 31 + place // 3 % 11) % vocab_size)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
