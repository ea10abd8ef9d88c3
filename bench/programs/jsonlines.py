"""An LSTM that classifies texts from a file of JSON lines. Its counterpart is jsonlines.ts."""

import json
import tempfile

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

WORDS = ["good", "great", "fine", "bad", "poor", "awful", "film", "plot", "cast", "the", "a", "not"]
OPINIONS = [1, 1, 1, -1, -1, -1, 0, 0, 0, 0, 0, 0]


def line(i):
    """A sample of a few words; its label is 1 if more of its words are good than bad."""
    count = 4 + i * 7 % 9
    places = [(i * (k + 3) + k * k) % 12 for k in range(count)]
    label = int(sum(OPINIONS[place] for place in places) > 0)
    return json.dumps({"text": " ".join(WORDS[place] for place in places), "label": label})


class Classifier(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 24, padding_idx=0)
        self.lstm = nn.LSTM(24, 48, batch_first=True)
        self.out = nn.Linear(48, 2)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.out(hidden[-1])


def start():
    with tempfile.NamedTemporaryFile("w+", suffix=".jsonl") as file:
        file.writelines(line(i) + "\n" for i in range(256))
        file.seek(0)
        samples = [json.loads(one) for one in file]

    vocabulary = {"<pad>": 0}
    for sample in samples:
        for word in sample["text"].split():
            vocabulary.setdefault(word, len(vocabulary))

    torch.manual_seed(7)
    model = Classifier(len(vocabulary))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    at = 0

    def step():
        nonlocal at
        batch = samples[at : at + 32]
        at = (at + 32) % len(samples)
        ids = [torch.tensor([vocabulary[word] for word in sample["text"].split()]) for sample in batch]
        padded = pad_sequence(ids, batch_first=True)
        lengths = torch.tensor([len(one) for one in ids])
        labels = torch.tensor([sample["label"] for sample in batch])
        optimizer.zero_grad()
        loss = F.cross_entropy(model(padded, lengths), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, None
