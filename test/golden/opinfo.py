# Writes torch's own samples. `opinfo.py FOLDER` reads a JSON list of names, such as ["op sum", "module Linear", "optimizer SGD"],
# from standard input, and writes a file of the folder for each, 0.jsonl and so on: a line of JSON for each sample, with its
# arguments, and what torch computes of them, values and gradients; or that torch refuses them. `opinfo.py FOLDER 3` writes the
# first three samples of each kind alone. `opinfo.py FOLDER 3 bfloat16` writes the bfloat16 samples of operations, each result also
# as computed in float64. `opinfo.py FOLDER 3 second` writes the float32 samples of operations and modules that have gradients, with
# their second derivatives. Prints the version of torch.
# Needs torch 2.9 or newer with expecttest, numpy and scipy. packages/nn/test/opinfo has the readers.

import base64
import inspect
import json
import math
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

from common import fill

FEW = int(sys.argv[2]) if len(sys.argv) > 2 else None
IS_NARROW = "bfloat16" in sys.argv[3:]
IS_SECOND = "second" in sys.argv[3:]
DTYPES = [torch.bfloat16] if IS_NARROW else [torch.float32] if IS_SECOND else [torch.float32, torch.int64, torch.bool]

# Larger samples show nothing that smaller ones do not.
MOST_ELEMENTS = 5_000

# NaN, infinities, both zeros, denormal and largest numbers; equal elements; and where functions have their kinks.
SPECIAL = {
    "special values": [math.nan, 1.0, math.inf, -0.0, -math.inf, 1e-40, 0.0, -1.0, 1e18, -1e-40, -1e18, 0.5, 88.8, -104.0, -20.0],
    "ties": [1.0, 0.0, -1.0, 0.0, 1.0, 1.0, -1.0, 0.0, 0.0, 1.0, -1.0],
    "kinks": [3.0, -3.0, 0.5, 0.0, -0.5, 6.0, 1.0, 20.0, -1.0, 2.0, -2.0, 2.5, 1.5],
}
# torch itself ends the process for NaN and infinite positions.
WITHOUT_SPECIAL_VALUES = {"nn.functional.grid_sample"}

SPECIAL_INTEGERS = [2**24 + 1, 0, -1, 2**53 + 1, 1, -(2**53) - 1, 2**31, 2**63 - 1, -(2**31) - 1, 3, 2]


def encoded_array(tensor):
    """bfloat16 as float32."""
    tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
    return base64.b64encode(tensor.detach().reshape(-1).numpy().tobytes()).decode()


def encoded(value):
    """What packages/nn/test/opinfo/sample.ts decodes."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.dtype not in [*DTYPES, torch.float32, torch.int64, torch.bool]:
            return {"other": f"a tensor of {value.dtype} ({value.layout})"}
        dtype = str(value.dtype).removeprefix("torch.")
        return {"tensor": dtype, "shape": list(value.shape), "data": encoded_array(value), "grad": value.requires_grad}
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, float)):
        is_plain = math.isfinite(value) and abs(value) < 2**53 and not (isinstance(value, float) and value == int(value))
        return value if is_plain else {"number": str(value).replace("inf", "Infinity"), "isInteger": isinstance(value, int)}
    if isinstance(value, (list, tuple)):
        return [encoded(one) for one in value]
    if isinstance(value, dict):
        return {"dict": {str(key): encoded(one) for key, one in value.items()}}
    if isinstance(value, slice):
        return {"slice": [encoded(one) for one in (value.start, value.stop, value.step)]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if value is Ellipsis:
        return {"ellipsis": True}
    # Functions have no values: their names stand for them.
    return {"function": value.__name__} if inspect.isroutine(value) else {"other": type(value).__name__}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in tensors_in(part)]
    if isinstance(value, dict):
        return [one for part in value.values() for one in tensors_in(part)]
    return []


def mapped(function, value):
    """The arguments, with another tensor for each."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if type(value) in (list, tuple):
        return type(value)(mapped(function, one) for one in value)
    if type(value) is dict:
        return {key: mapped(function, one) for key, one in value.items()}
    return value


def fresh(tensor):
    """A leaf of its own; two arguments that are one tensor become two."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def doubled(tensor):
    return tensor.detach().double().requires_grad_(tensor.requires_grad) if tensor.is_floating_point() else tensor


def results(function, arguments):
    """Outputs, and the gradients of the arguments that have one, of the outputs' sum weighed by `fill`."""
    outputs = function(*arguments)
    found = tensors_in(outputs if isinstance(outputs, (list, tuple, dict)) else [outputs])
    if isinstance(outputs, (bool, int, float)):
        found = [torch.tensor(outputs)]
    weighed = [
        (one * fill(one.shape, 50 + place).to(torch.bfloat16 if IS_NARROW else one.dtype).to(one.dtype)).sum()
        for place, one in enumerate(found)
        if one.is_floating_point() and one.requires_grad
    ]
    trained = [one for one in tensors_in(arguments) if one.requires_grad]
    if not weighed or not trained:
        return found, []
    gradients = with_zeros(torch.autograd.grad(sum(weighed), trained, create_graph=IS_SECOND, allow_unused=True), trained)
    return found, second_derivatives(gradients, trained) if IS_SECOND else gradients


def with_zeros(gradients, trained):
    return [torch.zeros_like(one) if grad is None else grad for one, grad in zip(trained, gradients)]


def second_derivatives(gradients, trained):
    """The gradients of the gradients' sum weighed by `fill`."""
    weighed = [
        (grad * fill(grad.shape, 90 + place).to(grad.dtype)).sum() for place, grad in enumerate(gradients) if grad.requires_grad
    ]
    if not weighed:
        return [torch.zeros_like(one) for one in trained]
    return with_zeros(torch.autograd.grad(sum(weighed), trained, allow_unused=True), trained)


def compared(function, arguments):
    """The results, encoded, each with what single precision makes different: `rounding`, an array, if it is above 1e-7."""
    outputs, gradients = results(function, mapped(fresh, arguments))
    try:
        exact = results(function, mapped(doubled, arguments))
    except Exception:
        exact = [], []
    return [
        [with_rounding(one, two) for one, two in zip(single, double + [None] * len(single))]
        for single, double in zip((outputs, gradients), exact)
    ]


def with_rounding(single, double):
    result = encoded(single)
    if "tensor" not in result or double is None or not single.is_floating_point() or double.shape != single.shape:
        return result
    if single.dtype == torch.bfloat16:
        return {**result, "exact": encoded_array(double.float())}
    rounding = torch.nan_to_num((single.double() - double.double()).abs(), 0, 0, 0).float()
    return {**result, "rounding": encoded_array(rounding)} if rounding.numel() and rounding.max() > 1e-7 else result


def described(function, arguments, **about):
    torch.manual_seed(0)
    sample = {**about, "arguments": encoded(arguments)}
    try:
        outputs, gradients = compared(function, arguments)
        return {**sample, "outputs": outputs, "gradients": gradients}
    except Exception as error:
        return {**sample, "error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}


def some(samples):
    """The first samples, or all of them."""
    for place, sample in enumerate(samples):
        if FEW is not None and place >= FEW:
            return
        yield sample


def is_small(arguments):
    return sum(one.numel() for one in tensors_in(arguments)) <= MOST_ELEMENTS


def without_lists(value):
    """Lists, but no tuples, as tensors."""
    if isinstance(value, tuple):
        return tuple(without_lists(one) for one in value)
    return torch.tensor(value) if isinstance(value, list) else value


def replaced(values):
    """Puts the values in the place of the elements of each float, or of each integer, tensor."""
    count = 0

    def replace(tensor):
        nonlocal count
        is_float = isinstance(values[0], float)
        if tensor.dtype != (DTYPES[0] if is_float else torch.int64):
            return tensor
        count += 1
        places = (torch.arange(tensor.numel()) + 4 * (count - 1)) % len(values)
        return torch.tensor(values, dtype=tensor.dtype)[places].view(tensor.shape).requires_grad_(tensor.requires_grad)

    return replace


def operation_samples(name):
    for op in op_db:
        if op.name != name:
            continue
        variant = op.variant_test_name

        def function(input, args, kwargs):
            return op(input, *args, **kwargs)

        for dtype in DTYPES:
            if dtype not in op.dtypes:
                continue
            trains = dtype.is_floating_point and op.supports_autograd
            about = {"variant": variant, "dtype": str(dtype).removeprefix("torch.")}
            samples = [(one.input, one.args, one.kwargs) for one in op.sample_inputs("cpu", dtype, requires_grad=trains)]
            # All samples of ctc_loss are larger.
            samples = [one for one in samples if is_small(one) or name == "nn.functional.ctc_loss"]
            # JSON has one kind of list, but x[[1, 2]] and x[1, 2] differ.
            if name == "__getitem__":
                samples = [(input, without_lists(args), kwargs) for input, args, kwargs in samples]
            for sample in some(samples):
                yield described(function, sample, **about, values="samples")
            for values, numbers in SPECIAL.items() if dtype.is_floating_point and not IS_SECOND else []:
                if values == "special values" and name in WITHOUT_SPECIAL_VALUES:
                    continue
                for input, args, kwargs in some(samples[:12]):
                    yield described(function, mapped(replaced(numbers), (input, args, kwargs)), **about, values=values)
            if dtype == torch.int64:
                for input, args, kwargs in some(samples[:12]):
                    changed = mapped(replaced(SPECIAL_INTEGERS), input)
                    yield described(function, (changed, args, kwargs), **about, values="special values")
        if op.error_inputs_func is not None and not IS_SECOND:
            for error in some(op.error_inputs("cpu")):
                one = error.sample_input
                # A limit of torch alone.
                if "up to 64 dims" in str(error.error_regex):
                    continue
                yield described(
                    function, (one.input, one.args, one.kwargs), variant=variant, dtype="float32", values="errors"
                )


def named(function, inputs):
    """Positional arguments by the names of the parameters, without those that are the default."""
    bound = inspect.signature(function).bind(None, *inputs.args, **inputs.kwargs).arguments
    named = {}
    for name, value in list(bound.items())[1:]:
        parameter = inspect.signature(function).parameters[name]
        if value is parameter.default or (isinstance(value, (bool, int, float, str)) and value == parameter.default):
            continue
        if parameter.kind == parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind == parameter.VAR_POSITIONAL:
            named[name] = list(value)
        else:
            named[name] = value
    return named


def module_samples(name):
    for info in module_db:
        if info.module_cls.__name__ != name:
            continue
        for training in [True, False]:
            inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
            for one in some(inputs):
                if one.forward_input is not None:
                    yield module_sample(info, one, training, "samples")
                    if not IS_SECOND:
                        yield module_sample(info, one, training, "special values")
        if IS_SECOND:
            continue
        for one in some(info.module_error_inputs_func(info, "cpu", torch.float32, False, True) if info.module_error_inputs_func else []):
            yield module_sample(info, one.module_error_input, True, "errors")


def module_sample(info, inputs, training, values):
    about = {"variant": "", "dtype": "float32", "values": values, "training": training}
    constructor = named(info.module_cls.__init__, inputs.constructor_input)
    about["constructor"] = encoded(constructor)
    torch.manual_seed(0)
    try:
        module = info.module_cls(*inputs.constructor_input.args, **inputs.constructor_input.kwargs)
    except Exception as error:
        return {**about, "arguments": [], "state": {"dict": {}}, "error": f"{type(error).__name__}: {error}"}
    module.train(training)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    about["state"] = encoded({key: value.detach() for key, value in state.items()})
    forward = inputs.forward_input
    if forward is None:
        return {**about, "arguments": [], "outputs": [], "gradients": []}
    given = named(info.module_cls.forward, forward)
    if values != "samples":
        given = mapped(replaced(SPECIAL["special values"]), given) if values != "errors" else given

    def function(arguments, trained):
        # Statistics as they were, in the precision of this call.
        floats = next((one.dtype for one in tensors_in([arguments, trained]) if one.is_floating_point()), torch.float32)
        buffers = {
            key: state[key].clone().to(floats if state[key].is_floating_point() else state[key].dtype)
            for key, _ in module.named_buffers()
        }
        outputs = tensors_in([torch.func.functional_call(module, {**buffers, **trained}, (), arguments)])
        return outputs + [value for key, value in buffers.items() if key.startswith("running_")]

    parameters = {key: value.detach().requires_grad_() for key, value in module.named_parameters()}
    described_sample = described(function, (given, parameters), **about)
    described_sample["arguments"] = described_sample["arguments"][0]
    return described_sample


def optimizer_samples(name):
    for info in optim_db:
        if info.optim_cls.__name__ != name:
            continue
        for one in some(info.optim_inputs_func(device="cpu")):
            yield optimizer_sample(info.optim_cls, one.kwargs, "samples")
        for error in some(info.optim_error_inputs_func("cpu", torch.float32) if info.optim_error_inputs_func else []):
            sample = optimizer_sample(info.optim_cls, error.optimizer_error_input.kwargs, "errors")
            # Others are errors of the parameters.
            if "error" in sample:
                yield sample


STEPS = 4


def optimizer_sample(optimizer_class, options, values):
    """Parameters after every step, of a loss whose gradient changes with them."""
    start = [fill([3, 2], 1), fill([4], 2)]

    def function(parameters):
        optimizer = optimizer_class(parameters, **options)
        after = []

        def closure():
            optimizer.zero_grad()
            loss = sum(((one - fill(one.shape, 7 + place)) ** 2).sum() for place, one in enumerate(parameters))
            loss.backward()
            return loss

        for _ in range(STEPS):
            optimizer.step(closure)
            after += [one.detach().clone() for one in parameters]
        return after

    about = {"variant": "", "dtype": "float32", "values": values, "constructor": encoded(options)}
    return described(lambda *parameters: function(list(parameters)), [one.requires_grad_() for one in start], **about)


SAMPLES = {"op": operation_samples, "module": module_samples, "optimizer": optimizer_samples}


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(torch.__version__.partition("+")[0])
    for place, name in enumerate(json.load(sys.stdin)):
        kind, what = name.split(" ", 1)
        with open(f"{sys.argv[1]}/{place}.jsonl", "w") as file:
            for sample in SAMPLES[kind](what):
                file.write(json.dumps({"name": name, **sample}, allow_nan=False) + "\n")


main()
