# Dtypes and elements that torch gives the results of operations on operands of every two dtypes:
# python3 test/golden/promotion.py > test/golden/promotion.json. "error" where torch rejects the operands.
# packages/nn/test/ops/promotion.test.ts has the same operations. Generated with torch 2.15.0 (PyPI).

import json

import torch

dtypes = ["float32", "bfloat16", "int64", "bool"]
elements = {
    "float32": ([2.5, -1.75, 3.0, 0.5], [1.5, 2.0, -0.75, 4.0]),
    "bfloat16": ([2.5, -1.75, 3.0, 0.5], [1.5, 2.0, -0.75, 4.0]),
    "int64": ([7, 0, 3, 5], [2, 3, 1, 4]),
    "bool": ([True, False, True, False], [True, True, True, True]),
}


def operand(dtype, rank, side):
    """Elements of a side; a tensor without dimensions has the first one."""
    given = elements[dtype][side]
    return torch.tensor(given if rank == 1 else given[0], dtype=getattr(torch, dtype))


lefts = {f"{dtype}[{4 if rank else ''}]": operand(dtype, rank, 0) for dtype in dtypes for rank in (1, 0)}
rights = {f"{dtype}[{4 if rank else ''}]": operand(dtype, rank, 1) for dtype in dtypes for rank in (1, 0)}
numbers = {"3": 3, "2.5": 2.5, "true": True}
condition = torch.tensor([True, False, False, True])

binary = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "floorDivide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "pow": torch.pow,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "where": lambda x, y: torch.where(condition, x, y),
    "where, exchanged": lambda x, y: torch.where(condition, y, x),
    "clamp": lambda x, y: torch.clamp(x, y),
    "xlogy": torch.xlogy,
}
of_tensors = {
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "logicalAnd": torch.logical_and,
    "logicalOr": torch.logical_or,
    "logicalXor": torch.logical_xor,
    "bitwiseAnd": torch.bitwise_and,
    "bitwiseOr": torch.bitwise_or,
    "bitwiseXor": torch.bitwise_xor,
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y]),
    "logaddexp": torch.logaddexp,
    "isclose": torch.isclose,
}
reductions = ["sum", "prod", "mean", "var", "std", "amax", "amin", "max", "min", "argmax", "any", "all", "norm"]
reductions += ["median", "nansum", "count_nonzero"]
along = ["cumsum", "softmax", "sort", "argsort", "logsumexp"]
unary = "neg abs sign exp log sqrt sin tanh sigmoid floor ceil round trunc square reciprocal relu frac erf logical_not isnan".split()


def outcome(function, *operands):
    try:
        result = function(*operands)
    except Exception:
        return "error"
    if not isinstance(result, torch.Tensor):
        result = result.values
    shown = result.double() if result.dtype.is_floating_point else result.long()
    return [str(result.dtype).removeprefix("torch."), shown.reshape(-1).tolist()]


table = {}
for name, function in {**binary, **of_tensors}.items():
    others = {**rights, **numbers} if name in binary else rights
    table[name] = {
        left: {right: outcome(function, x, y) for right, y in others.items()} for left, x in lefts.items()
    }
unaries = {
    name: {left: outcome(getattr(torch, name), x) for left, x in lefts.items()} for name in reductions + unary
}
unaries |= {name: {left: outcome(getattr(torch, name), x, 0) for left, x in lefts.items()} for name in along}


def without_nan(value):
    """JSON has neither NaN nor infinities."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return str(value) if isinstance(value, float) and not abs(value) < float("inf") else value


lines = [f'"{part}": ' + json.dumps(without_nan(tables)).replace('}, "', '},\n"') for part, tables in
         {"elements": elements, "binary": table, "unary": unaries}.items()]
print("{\n" + ",\n".join(lines) + "\n}")
