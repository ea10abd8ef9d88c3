"""Prints in JSON what TensorBoard's own reader finds in the event files of a folder: every scalar, histogram and text."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
events.Reload()
tags = events.Tags()
print(
    json.dumps(
        {
            "scalars": {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]},
            "histograms": {
                tag: [[e.step, vars(e.histogram_value)] for e in events.Histograms(tag)]
                for tag in tags["histograms"]
            },
            "texts": {
                tag: [[e.step, make_ndarray(e.tensor_proto).item().decode()] for e in events.Tensors(tag)]
                for tag in tags["tensors"]
            },
        }
    )
)
