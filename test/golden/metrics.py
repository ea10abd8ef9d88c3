# Values of torchmetrics, for test/train-metrics.test.ts. Written with torchmetrics 1.9.0, torch 2.15.0 and numpy 2 (PyPI):
#
#   python3 test/golden/metrics.py > test/golden/metrics.json
#
# Each case has the options of ringrun and those of torchmetrics by the names of both. Inputs are float32 and int64.

import json
import re
import warnings

import torch
import torchmetrics
from torch.nn.functional import one_hot
from torchmetrics.segmentation import DiceScore
from torchmetrics.text import Perplexity

from common import fill_classes, shortest

warnings.filterwarnings("ignore")

N, C, L, V = 31, 5, 3, 7


def fill(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def spread(tensor):
    """Logits of few digits."""
    return torch.round(tensor * 256) / 128


def ignoring(target, value):
    target = target.clone().flatten()
    target[::4] = value
    return target


logits = spread(fill((N, C), 1))
target = fill_classes(N, C - 1, 2)  # The last class has no sample.
binary_target = (fill((N,), 3) > 0.2).long()
binary_logits = spread(fill((N,), 4)) + binary_target
labels_target = (fill((N, L), 5) > 0).long()
labels_logits = spread(fill((N, L), 6)) + labels_target
with_ties = torch.round(fill((N,), 7).sigmoid() * 8) / 8

INPUTS = {
    "logits": (logits, target),
    "probabilities": (logits.softmax(1), target),
    "classes": (logits.argmax(1), target),
    "ignored": (logits, ignoring(target, -100)),
    "ignoredClass": (logits, ignoring(target, 1)),
    "images": (spread(fill((N, C, 2, 2), 8)), fill_classes(N * 4, C, 3).reshape(N, 2, 2)),
    "masks": (fill_classes(N * 6, C, 17).reshape(N, 6), fill_classes(N * 6, C, 18).reshape(N, 6)),
    "oneHot": tuple(one_hot(fill_classes(N * 6, C, seed).reshape(N, 6), C).movedim(-1, 1) for seed in [19, 20]),
    "binaryLogits": (binary_logits, binary_target),
    "binaryProbabilities": (binary_logits.sigmoid(), binary_target),
    "binaryTies": (with_ties, binary_target),
    "binaryLabels": ((binary_logits > 0).long(), binary_target),
    "binaryIgnored": (binary_logits, ignoring(binary_target, -1)),
    "onlyNegative": (binary_logits, torch.zeros(N, dtype=torch.int64)),
    "labels": (labels_logits, labels_target),
    "labelsIgnored": (labels_logits, ignoring(labels_target, -1).reshape(N, L)),
    "numbers": (fill((N,), 9), fill((N,), 10) + fill((N,), 9)),
    "outputs": (fill((N, L), 11), fill((N, L), 12) + 2 * fill((N, L), 11)),
    "constant": (fill((N,), 13), torch.ones(N)),
    "tokens": (4 * fill((N, 4, V), 14), fill_classes(N * 4, V, 5).reshape(N, 4)),
    "tokensIgnored": (4 * fill((N, 4, V), 14), ignoring(fill_classes(N * 4, V, 5), -100).reshape(N, 4)),
    "values": (fill((N,), 15), fill((N,), 16).abs()),
}

BINARY = dict(task="binary")
MULTICLASS = dict(task="multiclass", num_classes=C)
MULTILABEL = dict(task="multilabel", num_labels=L)
AVERAGES = ["micro", "macro", "weighted", "none"]
SCORES = ["Accuracy", "Precision", "Recall", "F1Score", "FBetaScore"]


def cases():
    for name in SCORES:
        beta = dict(beta=2.0) if name == "FBetaScore" else {}
        for inputs in ["binaryLogits", "binaryProbabilities", "binaryLabels", "onlyNegative"]:
            yield name, dict(**BINARY, **beta), inputs
        yield name, dict(**BINARY, **beta, threshold=0.7), "binaryLogits"
        yield name, dict(**BINARY, **beta, ignore_index=-1), "binaryIgnored"
        for average in AVERAGES:
            options = dict(**MULTICLASS, **beta, average=average)
            for inputs in ["logits", "classes", "images"]:
                yield name, options, inputs
            yield name, dict(**options, top_k=2), "logits"
            yield name, dict(**options, ignore_index=-100), "ignored"
            yield name, dict(**options, ignore_index=1), "ignoredClass"
            options = dict(**MULTILABEL, **beta, average=average)
            yield name, options, "labels"
            yield name, dict(**options, ignore_index=-1), "labelsIgnored"
        yield name, dict(**MULTICLASS, **beta), "logits"
    for name in SCORES[1:]:
        for average in AVERAGES:
            yield name, dict(**MULTICLASS, average=average, zero_division=1), "classes"
        yield name, dict(**BINARY, zero_division=1), "onlyNegative"
    for inputs in ["binaryLogits", "binaryLabels", "onlyNegative"]:
        yield "JaccardIndex", dict(**BINARY), inputs
    yield "JaccardIndex", dict(**BINARY, zero_division=1), "onlyNegative"
    yield "JaccardIndex", dict(**BINARY, ignore_index=-1), "binaryIgnored"
    for average in AVERAGES:
        for inputs in ["logits", "classes", "images"]:
            yield "JaccardIndex", dict(**MULTICLASS, average=average), inputs
        yield "JaccardIndex", dict(**MULTICLASS, average=average, ignore_index=-100), "ignored"
        yield "JaccardIndex", dict(**MULTICLASS, average=average, ignore_index=1), "ignoredClass"
        yield "JaccardIndex", dict(**MULTILABEL, average=average), "labels"
        for level in ["samplewise", "global"]:
            options = dict(num_classes=C, average=average, aggregation_level=level)
            yield "DiceScore", dict(**options, input_format="mixed"), "images"
            yield "DiceScore", dict(**options, input_format="index", include_background=False), "masks"
            yield "DiceScore", options, "oneHot"
    yield "JaccardIndex", dict(**MULTICLASS), "images"
    yield "DiceScore", dict(num_classes=C, input_format="index"), "masks"
    for normalize in ["none", "true", "pred", "all"]:
        yield "ConfusionMatrix", dict(**BINARY, normalize=normalize), "binaryLogits"
        yield "ConfusionMatrix", dict(**MULTICLASS, normalize=normalize), "logits"
        yield "ConfusionMatrix", dict(**MULTILABEL, normalize=normalize), "labels"
    yield "ConfusionMatrix", dict(**MULTICLASS, ignore_index=-100), "ignored"
    for thresholds in [{}, dict(thresholds=11), dict(thresholds=[0.0, 0.3, 0.5, 0.9])]:
        for inputs in ["binaryLogits", "binaryProbabilities", "binaryTies", "onlyNegative"]:
            yield "AUROC", dict(**BINARY, **thresholds), inputs
        yield "AUROC", dict(**BINARY, **thresholds, max_fpr=0.4), "binaryLogits"
        yield "AUROC", dict(**BINARY, **thresholds, ignore_index=-1), "binaryIgnored"
        for average in AVERAGES[1:]:
            yield "AUROC", dict(**MULTICLASS, **thresholds, average=average), "logits"
            yield "AUROC", dict(**MULTICLASS, **thresholds, average=average), "probabilities"
            yield "AUROC", dict(**MULTICLASS, **thresholds, average=average, ignore_index=-100), "ignored"
        for average in AVERAGES:
            yield "AUROC", dict(**MULTILABEL, **thresholds, average=average), "labels"
            yield "AUROC", dict(**MULTILABEL, **thresholds, average=average, ignore_index=-1), "labelsIgnored"
    for name in ["MeanSquaredError", "MeanAbsoluteError"]:
        yield name, {}, "numbers"
        yield name, {}, "outputs"
        yield name, dict(num_outputs=L), "outputs"
    yield "MeanSquaredError", dict(squared=False), "numbers"
    yield "R2Score", {}, "numbers"
    yield "R2Score", dict(adjusted=3), "numbers"
    yield "R2Score", {}, "constant"
    for multioutput in ["uniform_average", "variance_weighted", "raw_values"]:
        yield "R2Score", dict(multioutput=multioutput), "outputs"
    yield "Perplexity", {}, "tokens"
    yield "Perplexity", dict(ignore_index=-100), "tokensIgnored"
    yield "MeanMetric", {}, "values"
    yield "SumMetric", {}, "values"


def camel(name):
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def ringruns(name, options, inputs):
    named = {camel(key): camel(value) if key == "multioutput" else value for key, value in options.items()}
    if name == "R2Score" and inputs == "outputs":
        named["numOutputs"] = L
    return named


def elements(tensor):
    return [shortest(number) for number in tensor.double().flatten().tolist()]


def value_of(name, options, inputs):
    if name == "F1Score":
        metric = torchmetrics.F1Score(**options)
    elif name == "FBetaScore":
        metric = torchmetrics.FBetaScore(**{"beta": 1.0, **options})
    else:
        others = {"Perplexity": Perplexity, "DiceScore": DiceScore}
        metric = (others.get(name) or getattr(torchmetrics, name))(**options)
    predictions, expected = INPUTS[inputs]
    if name == "SumMetric":
        metric.update(predictions)
    else:
        metric.update(predictions, expected)
    return elements(metric.compute())


def stored(tensor):
    is_float = tensor.is_floating_point()
    data = elements(tensor) if is_float else tensor.flatten().tolist()
    return {"dtype": "float32" if is_float else "int64", "shape": list(tensor.shape), "data": data}


print(
    json.dumps(
        {
            "inputs": {name: [stored(tensor) for tensor in pair] for name, pair in INPUTS.items()},
            "cases": [
                {
                    "metric": name,
                    "options": ringruns(name, options, inputs),
                    "inputs": inputs,
                    "value": value_of(name, options, inputs),
                }
                for name, options, inputs in cases()
            ],
        }
    )
)
