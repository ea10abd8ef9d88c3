# PyTorch's results for packages/nn/test/autograd/programs.test.ts. Generated with torch 2.15.0:
#
#   python test/golden/autograd.py > test/golden/autograd.json
#
# Programs that need gradients of gradients, or their own: losses, gradients and parameters in double precision.

import json

import torch
import torch.nn.functional as F
from torch.autograd import functional

from common import fill, fill_classes, summary


def parameters(*shapes, scale=0.5):
    return [(fill(shape, seed) * scale).double().requires_grad_() for seed, shape in enumerate(shapes)]


def critic(x, kernel, shift, weight, bias):
    hidden = F.leaky_relu(F.conv2d(x, kernel, shift, stride=2, padding=1), 0.2)
    return F.linear(F.layer_norm(hidden.flatten(1), [27]), weight, bias)


def wgan_gp():
    """The critic of a Wasserstein GAN with a gradient penalty."""
    trained = parameters((3, 2, 3, 3), (3,), (1, 27), (1,))
    optimizer = torch.optim.Adam(trained, lr=0.01, betas=(0.0, 0.9))
    losses, penalties = [], []
    for step in range(3):
        real, fake = fill((4, 2, 5, 5), 10 + step).double(), fill((4, 2, 5, 5), 20 + step).double()
        share = (fill((4, 1, 1, 1), 30 + step).double() + 1) / 2
        mixed = (share * real + (1 - share) * fake).requires_grad_()
        scores = critic(mixed, *trained)
        (slopes,) = torch.autograd.grad(scores, mixed, grad_outputs=torch.ones_like(scores), create_graph=True)
        penalty = ((slopes.flatten(1).norm(2, 1) - 1) ** 2).mean()
        loss = critic(fake, *trained).mean() - critic(real, *trained).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        penalties.append(penalty.item())
    return {"losses": losses, "penalties": penalties, "parameters": [summary(one) for one in trained]}


def maml():
    """Two tasks, each with one inner step whose gradient has a gradient."""
    trained = parameters((8, 1), (8,), (1, 8), (1,))
    optimizer = torch.optim.SGD(trained, lr=0.1)

    def predicted(x, w1, b1, w2, b2):
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)

    losses = []
    for step in range(3):
        loss = 0
        for task in range(2):
            x, y, other_x, other_y = [fill((6, 1), 40 + 8 * step + 4 * task + part).double() for part in range(4)]
            slopes = torch.autograd.grad(F.mse_loss(predicted(x, *trained), y), trained, create_graph=True)
            adapted = [one - 0.2 * slope for one, slope in zip(trained, slopes)]
            loss = loss + F.mse_loss(predicted(other_x, *adapted), other_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "parameters": [summary(one) for one in trained]}


def hessian_vector():
    """Of the cross-entropy of a small network with GELU, by both ways."""
    weights = [fill((5, 4), 1).double(), fill((3, 5), 2).double()]
    v = [fill((5, 4), 3).double(), fill((3, 5), 4).double()]
    x, classes = fill((6, 4), 5).double(), fill_classes(6, 3, 1)

    def loss(w1, w2):
        return F.cross_entropy(F.linear(F.gelu(F.linear(x, w1)), w2), classes)

    value, products = functional.hvp(loss, tuple(weights), tuple(v))
    return {"loss": value.item(), "products": [summary(one) for one in products]}


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return torch.sign(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= ctx.limit), None


def straight_through():
    """Binary weights, trained by a straight-through estimator."""
    (weight,) = parameters((3, 4), scale=1)
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    losses = []
    for step in range(4):
        x, y = fill((5, 4), 60 + step).double(), fill((5, 3), 70 + step).double()
        loss = F.mse_loss(F.linear(x, Binarize.apply(weight, 0.8)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "parameters": [summary(weight)]}


def hooks():
    """Gradients that hooks of tensors and modules see and change."""
    w1, w2 = parameters((3, 2), (2, 3), scale=1)
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3, bias=False), torch.nn.Tanh(), torch.nn.Linear(3, 2, bias=False)).double()
    layers[0].weight, layers[2].weight = torch.nn.Parameter(w1.detach()), torch.nn.Parameter(w2.detach())
    seen = []
    layers[1].register_full_backward_hook(
        lambda module, grad_input, grad_output: (seen.extend([grad_input[0], grad_output[0]]), (grad_input[0] * 3,))[1]
    )
    layers[0].weight.register_hook(lambda gradient: gradient + 1)
    x = fill((4, 2), 9).double().requires_grad_()
    hidden = layers[0](x)
    hidden.retain_grad()
    layers[2](layers[1](hidden)).square().sum().backward()
    found = [*seen, hidden.grad, x.grad, layers[0].weight.grad, layers[2].weight.grad]
    return {"gradients": [summary(one) for one in found]}


def accumulation():
    """A retained gradient over two passes, and the gradient of a vector."""
    x = fill((3,), 1).double().requires_grad_()
    y = x * x
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.backward(fill((3,), 2).double())
    return {"gradients": [summary(x.grad), summary(y.grad)]}


PROGRAMS = [wgan_gp, maml, hessian_vector, straight_through, hooks, accumulation]
print(json.dumps({program.__name__: program() for program in PROGRAMS}, separators=(",", ":")))
