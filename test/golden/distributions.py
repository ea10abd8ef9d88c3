# Log-probabilities, entropies, divergences, cumulative probabilities and moments of torch.distributions, with their gradients, for
# packages/nn/test/distributions/distributions-golden.test.ts. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/distributions.py > test/golden/distributions.json

import json

import torch
from common import fill, operator_cases
from torch.distributions import (
    AffineTransform,
    Bernoulli,
    Beta,
    Categorical,
    Cauchy,
    Chi2,
    ComposeTransform,
    Dirichlet,
    Exponential,
    ExpTransform,
    Gamma,
    Geometric,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Independent,
    Laplace,
    LogNormal,
    MixtureSameFamily,
    Multinomial,
    MultivariateNormal,
    Normal,
    OneHotCategorical,
    Poisson,
    SigmoidTransform,
    SoftplusTransform,
    StudentT,
    TanhTransform,
    TransformedDistribution,
    Uniform,
    kl_divergence,
)

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


def members(name, make, value=None, cdf=False, icdf=False, moments=("entropy", "mean", "variance", "stddev")):
    """The members of a distribution of two parameters; `value` takes the third input to the support."""
    parameters = SHAPES[:2]
    cases = {f"{name}.logProb": (SHAPES, lambda a, b, x: make(a, b).log_prob(value(x)))}
    for moment in moments:
        if moment == "entropy":
            cases[f"{name}.entropy"] = (parameters, lambda a, b: make(a, b).entropy())
        else:
            cases[f"{name}.{moment}"] = (parameters, lambda a, b, moment=moment: getattr(make(a, b), moment))
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


def cauchy(a, b):
    return Cauchy(a, positive(b))


def gumbel(a, b):
    return Gumbel(a, positive(b))


def half_normal(a, b):
    return HalfNormal(positive(a + b))


def half_cauchy(a, b):
    return HalfCauchy(positive(a + b))


def log_normal(a, b):
    return LogNormal(a, positive(b))


def student(a, b):
    return StudentT(positive(b) + 2.1, a, positive(a + b))


def gamma(a, b):
    return Gamma(positive(3 * a), positive(b))


def chi2(a, b):
    return Chi2(positive(3 * a + b))


def beta(a, b):
    return Beta(positive(3 * a), positive(b))


def dirichlet(a, b):
    return Dirichlet(positive(3 * a + b))


def poisson(a, b):
    return Poisson(positive(3 * a + b))


def geometric(a, b):
    return Geometric(logits=a + b)


def geometric_of_probs(a, b):
    return Geometric(probability(a) * probability(b))


def one_hot(a, b):
    return OneHotCategorical(logits=3 * a + b)


def multinomial(a, b):
    return Multinomial(5, logits=3 * a + b)


def covariance(a):
    """Positive definite matrices [3, 4, 4] of a [3, 4]."""
    return a.unsqueeze(-1) * a.unsqueeze(-2) + torch.eye(4) * (a.square() + 0.5).unsqueeze(-1)


def tril(a):
    return (a.unsqueeze(-1) * a.unsqueeze(-2)).tril(-1) + torch.diag_embed(positive(a))


def multivariate(a, b):
    return MultivariateNormal(b, scale_tril=tril(a))


def of_covariance(a, b):
    return MultivariateNormal(b, covariance(a))


def of_precision(a, b):
    return MultivariateNormal(b, precision_matrix=covariance(a))


def tanh_normal(a, b):
    return TransformedDistribution(normal(a, b), [TanhTransform()])


def several(a, b):
    return TransformedDistribution(normal(a, b), [SigmoidTransform(), AffineTransform(positive(b), -1 - positive(b)), SoftplusTransform()])


def composed(a, b):
    parts = ComposeTransform([AffineTransform(b, positive(b), event_dim=1), ExpTransform()])
    return TransformedDistribution(normal(a, b), parts)


def mixture(a, b):
    return MixtureSameFamily(Categorical(logits=b), normal(a, b))


def vector_mixture(a, b):
    return MixtureSameFamily(Categorical(logits=a[:, 0]), Independent(normal(a, b), 1))


def counts(x):
    return (2 + 2 * x).floor().detach() + 0 * x


def multinomial_counts(x):
    return torch.tensor([1.0, 0.0, 3.0, 1.0]) + 0 * x


def vectors(x):
    return torch.tensor([0.0, 0.0, 1.0, 0.0]) + 0 * x


def inside_unit(a, b):
    return Uniform(0.5 + 0.2 * a, 0.75 + 0.2 * probability(b))


def above_zero(a, b):
    return Uniform(positive(a), 3 + positive(b))


def same(x):
    return 2 * x


def divergence(p, q):
    return PAIR, lambda a, b, c, d: kl_divergence(p(a, b), q(c, d))


FUNCTIONS = {
    **members("Normal", normal, same, cdf=True, icdf=True),
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
    **members("Cauchy", cauchy, same, cdf=True, icdf=True, moments=["entropy"]),
    **members("Gumbel", gumbel, same, cdf=True, icdf=True),
    **members("HalfNormal", half_normal, positive, cdf=True, icdf=True),
    **members("HalfCauchy", half_cauchy, positive, cdf=True, icdf=True, moments=["entropy"]),
    **members("LogNormal", log_normal, positive, cdf=True, icdf=True, moments=["entropy", "mean", "variance", "stddev", "mode"]),
    **members("StudentT", student, same),
    **members("Gamma", gamma, positive, moments=["entropy", "mean", "variance", "stddev", "mode"]),
    **members("Chi2", chi2, positive),
    **members("Beta", beta, probability),
    **members("Dirichlet", dirichlet, lambda x: x.softmax(-1)),
    "Dirichlet.mode": (SHAPES[:2], lambda a, b: Dirichlet(1.5 + positive(a + b)).mode),
    **members("Poisson", poisson, counts, moments=["mean", "variance"]),
    **members("Geometric", geometric, counts),
    **members("Geometric of probs", geometric_of_probs, counts),
    **members("OneHotCategorical", one_hot, vectors),
    **members("Multinomial", multinomial, multinomial_counts),
    **members("MultivariateNormal", multivariate, same),
    **members("MultivariateNormal of a covariance", of_covariance, same),
    **members("MultivariateNormal of a precision", of_precision, same),
    "MultivariateNormal.precisionMatrix": (SHAPES[:2], lambda a, b: multivariate(a, b).precision_matrix),
    **members("TanhTransform", tanh_normal, lambda x: 0.9 * x, cdf=True, icdf=True, moments=[]),
    **members("several transforms", several, lambda x: 0.3 + 0.2 * probability(x), cdf=True, icdf=True, moments=[]),
    **members("ComposeTransform", composed, positive, moments=[]),
    **members("MixtureSameFamily", mixture, lambda x: 2 * x[0, :3], cdf=True, moments=["mean", "variance"]),
    "MixtureSameFamily of vectors.logProb": (SHAPES, lambda a, b, x: vector_mixture(a, b).log_prob(x[0])),
    "MixtureSameFamily of vectors.mean": (SHAPES[:2], lambda a, b: vector_mixture(a, b).mean),
    "MixtureSameFamily of vectors.variance": (SHAPES[:2], lambda a, b: vector_mixture(a, b).variance),
    "kl of Cauchy": divergence(cauchy, cauchy),
    "kl of Gumbel": divergence(gumbel, gumbel),
    "kl of HalfNormal": divergence(half_normal, half_normal),
    "kl of LogNormal": divergence(log_normal, log_normal),
    "kl of Gamma": divergence(gamma, gamma),
    "kl of Beta": divergence(beta, beta),
    "kl of Dirichlet": divergence(dirichlet, dirichlet),
    "kl of Poisson": divergence(poisson, poisson),
    "kl of Geometric": divergence(geometric, geometric),
    "kl of OneHotCategorical": divergence(one_hot, one_hot),
    "kl of MultivariateNormal": divergence(multivariate, of_covariance),
    "kl of Bernoulli and Poisson": divergence(bernoulli, poisson),
    "kl of Beta and Exponential": divergence(beta, exponential),
    "kl of Beta and Gamma": divergence(beta, gamma),
    "kl of Beta and Normal": divergence(beta, normal),
    "kl of Beta and Uniform": (PAIR, lambda a, b, c, d: kl_divergence(beta(a, b), Uniform(c - 2, 1 + positive(d)))),
    "kl of Exponential and Gamma": divergence(exponential, gamma),
    "kl of Exponential and Gumbel": divergence(exponential, gumbel),
    "kl of Exponential and Normal": divergence(exponential, normal),
    "kl of Gamma and Exponential": divergence(gamma, exponential),
    "kl of Gamma and Gumbel": divergence(gamma, gumbel),
    "kl of Gamma and Normal": divergence(gamma, normal),
    "kl of Gumbel and Normal": divergence(gumbel, normal),
    "kl of Laplace and Normal": divergence(laplace, normal),
    "kl of Normal and Gumbel": divergence(normal, gumbel),
    "kl of Normal and Laplace": divergence(normal, laplace),
    "kl of Uniform and Beta": divergence(inside_unit, beta),
    "kl of Uniform and Exponential": divergence(above_zero, exponential),
    "kl of Uniform and Gamma": divergence(above_zero, gamma),
    "kl of Uniform and Gumbel": divergence(uniform, gumbel),
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
        "Gumbel": Gumbel(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])),
        "HalfNormal": HalfNormal(torch.tensor([0.5, 3.0])),
        "LogNormal": LogNormal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])),
        "Geometric": Geometric(torch.tensor([0.3, 0.8])),
        "MultivariateNormal": MultivariateNormal(torch.tensor([1.0, -2.0]), scale_tril=torch.tensor([[0.5, 0.0], [1.0, 3.0]])),
    }
    for name, distribution in made.items():
        torch.manual_seed(1)
        yield name, distribution.sample((4,)).flatten().tolist()


def gamma_slopes():
    """Derivatives of gamma numbers by their concentration, in all branches of torch's approximation."""
    for concentration in (0.1, 0.7, 1.0, 3.0, 7.9, 9.0, 60.0):
        for ratio in (0.05, 0.5, 0.95, 1.02, 1.3, 2.5):
            a, x = (torch.tensor(number, dtype=torch.float64) for number in (concentration, concentration * ratio))
            yield [concentration, x.item(), torch._standard_gamma_grad(a, x).item()]


table = {name: (shapes, of_all(function)) for name, (shapes, function) in FUNCTIONS.items()}
print(json.dumps({"samples": dict(samples()), "gammaSlopes": list(gamma_slopes()), "cases": list(operator_cases(table, fill))}, separators=(",", ":")))
