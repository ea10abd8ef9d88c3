"""A GRU encoder and decoder that learn to reverse sequences, with teacher forcing. Its counterpart is seq2seq.ts."""

import torch
import torch.nn.functional as F
from torch import nn, optim

WORDS, BEGIN = 12, 0


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 24)
        self.gru = nn.GRU(24, 48, batch_first=True)

    def forward(self, source):
        _, hidden = self.gru(self.embedding(source))
        return hidden


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 24)
        self.gru = nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(48, WORDS)

    def forward(self, word, hidden):
        output, hidden = self.gru(F.relu(self.embedding(word)).unsqueeze(1), hidden)
        return self.out(output.squeeze(1)), hidden


def start():
    torch.manual_seed(3)
    encoder, decoder = Encoder(), Decoder()
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
    criterion = nn.CrossEntropyLoss()

    def step():
        source = torch.randint(1, WORDS, (32, 6))
        target = source.flip(1)
        is_forced = torch.rand(1).item() < 0.7
        hidden = encoder(source)
        word = torch.full_like(target[:, 0], BEGIN)
        outputs = []
        for t in range(6):
            logits, hidden = decoder(word, hidden)
            outputs.append(logits)
            word = target[:, t] if is_forced else logits.argmax(1)
        optimizer.zero_grad()
        loss = criterion(torch.stack(outputs, 2), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, None
