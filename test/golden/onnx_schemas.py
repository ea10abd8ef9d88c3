# ONNX's schemas of the operators that importOnnx imports, for packages/nn/test/onnx/import/onnx-schemas.test.ts. Generated with onnx 1.23.2:
#
#   python3 test/golden/onnx_schemas.py > test/golden/onnx_schemas.json
#
# For each operator of docs/onnx.md: the versions in effect in opset 7 and later, each with its attributes, inputs and
# outputs. Types are those that tensors of ringrun have.

import json
import os
import re

import onnx
from onnx import defs, helper

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "onnx.md")
OPERATORS = re.search(r"```text\n([^`]*)```", open(PAGE).read()).group(1).split()
FIRST = 7
DTYPES = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(bool)": "bool"}


def attribute(definition):
    described = {"type": definition.type.name}
    if definition.required:
        described["required"] = True
    if definition.default_value.name:
        value = helper.get_attribute_value(definition.default_value)
        described["default"] = value.decode() if isinstance(value, bytes) else value
    return described


def parameters(schema, formal):
    types = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    return [
        {
            "name": one.name,
            "option": one.option.name.lower(),
            "types": sorted(DTYPES[name] for name in types.get(one.type_str, [one.type_str]) if name in DTYPES),
        }
        for one in formal
    ]


def version(schema):
    return {
        "since": schema.since_version,
        "deprecated": schema.deprecated,
        "attributes": {name: attribute(definition) for name, definition in sorted(schema.attributes.items())},
        "inputs": parameters(schema, schema.inputs),
        "outputs": parameters(schema, schema.outputs),
    }


schemas = {name: [] for name in OPERATORS}
for schema in defs.get_all_schemas_with_history():
    if schema.domain == "" and schema.name in schemas:
        schemas[schema.name].append(schema)
print("{")
print(f'"onnx": "{onnx.__version__}", "opset": {defs.onnx_opset_version()}, "operators": {{')
for index, (name, versions) in enumerate(schemas.items()):
    versions.sort(key=lambda schema: schema.since_version)
    oldest = max([schema.since_version for schema in versions if schema.since_version <= FIRST], default=0)
    kept = [version(schema) for schema in versions if schema.since_version >= oldest]
    # Versions that differ in types that ringrun does not have are one.
    different = [one for k, one in enumerate(kept) if k == 0 or {**one, "since": 0} != {**kept[k - 1], "since": 0}]
    end = "," if index < len(schemas) - 1 else ""
    print(f'"{name}": [')
    print(",\n".join(json.dumps(one) for one in different))
    print(f"]{end}")
print("}}")
