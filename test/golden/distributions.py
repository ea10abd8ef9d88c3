# Log-probabilities, entropies, divergences, cumulative probabilities and moments of torch.distributions, with their gradients, for
# packages/nn/test/distributions/distributions-golden.test.ts. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/distributions.py > test/golden/distributions.json

import json

import torch
from common import fill, operator_cases
from torch.distributions import Bernoulli, Categorical, Exponential, Independent, Laplace, Normal, Uniform, kl_divergence

SHAPES = [(3, 4), (4,), (3, 4)]
PAIR = [(3, 4), (4,), (3, 4), (4,)]


def positive(x):
    return x.exp()


def probability(x):
    return 0.5 + 0.45 * x


def bits(shape):
    return (fill(shape, 9) > 0).double()


def classes(shape, depth):
    return (torch.arange(torch.Size(shape).numel()) * 5 % depth).reshape(shape)


def members(name, make, value=None, cdf=False, icdf=False):
    """The members of a distribution of two parameters; `value` takes the third input to the support."""
    parameters = SHAPES[:2]
    cases = {
        f"{name}.logProb": (SHAPES, lambda a, b, x: make(a, b).log_prob(value(x))),
        f"{name}.entropy": (parameters, lambda a, b: make(a, b).entropy()),
        f"{name}.mean": (parameters, lambda a, b: make(a, b).mean),
        f"{name}.variance": (parameters, lambda a, b: make(a, b).variance),
        f"{name}.stddev": (parameters, lambda a, b: make(a, b).stddev),
    }
    if cdf:
        cases[f"{name}.cdf"] = (SHAPES, lambda a, b, x: make(a, b).cdf(value(x)))
    if icdf:
        cases[f"{name}.icdf"] = (SHAPES, lambda a, b, x: make(a, b).icdf(probability(x)))
    return cases


def normal(a, b):
    return Normal(a, positive(b))


def laplace(a, b):
    return Laplace(a, positive(b))


def exponential(a, b):
    return Exponential(positive(a + b))


def uniform(a, b):
    return Uniform(a - 2, positive(b), validate_args=False)


def bernoulli(a, b):
    return Bernoulli(logits=3 * a + b)


def bernoulli_of_probs(a, b):
    return Bernoulli(probability(a) * probability(b))


def categorical(a, b):
    return Categorical(logits=3 * a + b)


def categorical_of_probs(a, b):
    return Categorical(probability(a) * probability(b))


def independent(a, b):
    return Independent(normal(a, b), 1)


def same(x):
    return 2 * x


def divergence(p, q):
    return PAIR, lambda a, b, c, d: kl_divergence(p(a, b), q(c, d))


FUNCTIONS = {
    **members("Normal", normal, same, cdf=True),
    **members("Laplace", laplace, same, cdf=True, icdf=True),
    **members("Exponential", exponential, positive, cdf=True, icdf=True),
    **members("Uniform", uniform, lambda x: 0.1 * x, cdf=True, icdf=True),
    **members("Bernoulli", bernoulli, lambda x: bits((3, 4)) + 0 * x),
    **members("Bernoulli of probs", bernoulli_of_probs, lambda x: bits((3, 4)) + 0 * x),
    "Categorical.logProb": (SHAPES[:2], lambda a, b: categorical(a, b).log_prob(classes((2, 3), 4))),
    "Categorical.logProb of expanded logits": (SHAPES[:2], lambda a, b: categorical(a[:1], b).log_prob(classes((2, 5), 4))),
    "Categorical.entropy": (SHAPES[:2], lambda a, b: categorical(a, b).entropy()),
    "Categorical.probs": (SHAPES[:2], lambda a, b: categorical(a, b).probs),
    "Categorical of probs.logProb": (SHAPES[:2], lambda a, b: categorical_of_probs(a, b).log_prob(classes((3,), 4))),
    "Categorical of probs.entropy": (SHAPES[:2], lambda a, b: categorical_of_probs(a, b).entropy()),
    "Categorical of probs.logits": (SHAPES[:2], lambda a, b: categorical_of_probs(a, b).logits),
    "Bernoulli of probs.logits": (SHAPES[:2], lambda a, b: bernoulli_of_probs(a, b).logits),
    "Independent.logProb": (SHAPES, lambda a, b, x: independent(a, b).log_prob(x)),
    "Independent.entropy": (SHAPES[:2], lambda a, b: independent(a, b).entropy()),
    "kl of Normal": divergence(normal, normal),
    "kl of Laplace": divergence(laplace, laplace),
    "kl of Exponential": divergence(exponential, exponential),
    "kl of Uniform": (PAIR, lambda a, b, c, d: kl_divergence(uniform(a, b), Uniform(c - 4, 4 + positive(d)))),
    "kl of Uniform and Normal": divergence(uniform, normal),
    "kl of Bernoulli": divergence(bernoulli, bernoulli),
    "kl of Bernoulli of probs": divergence(bernoulli_of_probs, bernoulli_of_probs),
    "kl of Categorical": divergence(categorical, categorical),
    "kl of Categorical of probs": divergence(categorical_of_probs, categorical_of_probs),
    "kl of Independent": divergence(independent, independent),
}


def of_all(function):
    """The function of all inputs, so that each of them has a gradient."""
    return lambda *inputs: function(*inputs) + 0 * sum(x.sum() for x in inputs)


def samples():
    """Samples of the CPU's generator after the seed 1."""
    made = {
        "Normal": Normal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])),
        "Uniform": Uniform(torch.tensor([1.0, -2.0]), torch.tensor([1.5, 3.0])),
        "Bernoulli": Bernoulli(torch.tensor([0.3, 0.8])),
    }
    for name, distribution in made.items():
        torch.manual_seed(1)
        yield name, distribution.sample((4,)).flatten().tolist()


table = {name: (shapes, of_all(function)) for name, (shapes, function) in FUNCTIONS.items()}
print(json.dumps({"samples": dict(samples()), "cases": list(operator_cases(table, fill))}, separators=(",", ":")))
