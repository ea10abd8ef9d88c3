"""A GAN that learns a normal distribution in the plane. Its counterpart is gan.ts."""

import torch
from torch import nn, optim


def start():
    torch.manual_seed(1)
    generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
    discriminator = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    of_g = optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    of_d = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    center = torch.tensor([2, -1])

    def step():
        real = torch.randn(128, 2) * 0.5 + center
        fake = generator(torch.randn(128, 8))

        of_d.zero_grad()
        loss_d = bce(discriminator(real), torch.ones(128, 1)) + bce(discriminator(fake.detach()), torch.zeros(128, 1))
        loss_d.backward()
        of_d.step()

        of_g.zero_grad()
        loss_g = bce(discriminator(fake), torch.ones(128, 1))
        loss_g.backward()
        of_g.step()
        return loss_d.item() + loss_g.item()

    def score():
        with torch.no_grad():
            fake = generator(torch.randn(512, 8))
        return (fake.mean(0) - center).norm().item()

    return step, score
