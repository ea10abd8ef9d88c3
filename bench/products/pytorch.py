"""Products of PyTorch for run.js, by lines of JSON: `way` (mm or linear), `rows`, `inner`, `columns`, `bfloat16`, `pairs`.

A chain of pairs multiplies [rows, inner] by [inner, columns] and the result by [columns, inner], as ringrun's does.
"""

import torch

from answers import answer_lines, milliseconds_of

torch.set_num_threads(1)
torch.set_grad_enabled(False)


def answer(question):
    dtype = torch.bfloat16 if question["bfloat16"] else torch.float32
    rows, inner, columns = question["rows"], question["inner"], question["columns"]

    def matrix(*shape):
        numbers = (torch.arange(shape[0] * shape[1], dtype=torch.float64) * 12.9898).sin() * 43758.5453
        values = (numbers - numbers.floor() - 0.5) * (12 / shape[0]) ** 0.5
        return values.reshape(shape).to(dtype)

    x, there, back = matrix(rows, inner), matrix(inner, columns), matrix(columns, inner)
    if question["way"] == "linear":
        # F.linear reads the weight transposed.
        there, back = there.t().contiguous(), back.t().contiguous()
        multiply = torch.nn.functional.linear
    else:
        multiply = torch.mm

    def chain():
        y = x
        for _ in range(question["pairs"]):
            y = multiply(multiply(y, there), back)

    return {"milliseconds": milliseconds_of(chain)}


answer_lines(answer)
