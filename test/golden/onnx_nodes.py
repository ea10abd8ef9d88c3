# ONNX's own tests of single operators, for packages/nn/test/onnx/import/onnx-nodes.test.ts, which runs this script:
#
#   python3 test/golden/onnx_nodes.py FOLDER
#
# needs the Python package onnx (tried with 1.23.2). For each test whose operators are those of docs/onnx.md, FOLDER receives
# NAME.onnx and NAME.json: inputs, outputs and tolerances. Where there are several inputs, also NAME.baked.onnx and .json, in
# which all inputs but the first are initializers, as exporters write them.

import base64
import json
import os
import re
import sys
import warnings

import numpy as np
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

warnings.simplefilter("ignore")
FOLDER = sys.argv[1]
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "onnx.md")
OPERATORS = set(re.search(r"```text\n([^`]*)```", open(PAGE).read()).group(1).split())


def encoded(value):
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biuf":
        raise TypeError(array.dtype)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "data": base64.b64encode(array.tobytes()).decode(),
    }


def write(name, test, inputs, outputs):
    with open(os.path.join(FOLDER, name + ".onnx"), "wb") as file:
        file.write(test.model.SerializeToString())
    with open(os.path.join(FOLDER, name + ".json"), "w") as file:
        json.dump({"rtol": test.rtol, "atol": test.atol, "inputs": inputs, "outputs": outputs}, file)


os.makedirs(FOLDER, exist_ok=True)
for test in collect_testcases(None):
    if test.model is None or not {node.op_type for node in test.model.graph.node} <= OPERATORS:
        continue
    if any(node.domain for node in test.model.graph.node):
        continue
    values, expected = test.data_sets[0]
    try:
        inputs, outputs = [encoded(value) for value in values], [encoded(value) for value in expected]
    except (TypeError, ValueError):  # sequences, optionals, strings, floats of 8 bits
        continue
    write(test.name, test, inputs, outputs)
    names = [value.name for value in test.model.graph.input]
    if len(names) != len(values) or len(values) < 2:
        continue
    for name, value in list(zip(names, values))[1:]:
        test.model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    del test.model.graph.input[1:]
    write(test.name + ".baked", test, inputs[:1], outputs)
