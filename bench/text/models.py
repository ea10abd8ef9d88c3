"""The models of packages/examples-text in PyTorch, with the same initial parameters after torch.manual_seed."""

import torch
import torch.nn as nn


class BagOfWords(nn.Module):
    def __init__(self, vocab_size, classes, width=64):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab_size, width, padding_idx=0, mode="mean")
        self.fc = nn.Linear(width, classes)

    def forward(self, tokens):
        return self.fc(self.bag(tokens))


class TextTransformer(nn.Module):
    def __init__(self, vocab_size, classes, length, width=64, heads=4, layers=2):
        super().__init__()
        self.words = nn.Embedding(vocab_size, width, padding_idx=0)
        self.places = nn.Embedding(length, width)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, 0, 0.1)
        with torch.no_grad():
            self.words.weight[0] = 0
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.fc = nn.Linear(width, classes)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        encoded = self.encoder(x, src_key_padding_mask=tokens == 0)
        is_word = (tokens != 0).float().unsqueeze(-1)
        return self.fc((encoded * is_word).sum(1) / is_word.sum(1))


def model_of(name, vocab_size, classes, length):
    if name == "bag":
        return BagOfWords(vocab_size, classes)
    return TextTransformer(vocab_size, classes, length)
