"""A mode of PyTorch's rows: `eager`, or words joined by `+`.

channels_last: model and images. compile: torch.compile of the wrapped model. fused: the fused update of the optimizer.
bf16: forward pass and loss under torch.autocast("cpu", torch.bfloat16).
"""

import torch

WORDS = {"eager", "channels_last", "compile", "fused", "bf16"}


class Mode:
    def __init__(self, name):
        self.words = set(name.split("+"))
        unknown = self.words - WORDS
        if unknown:
            raise ValueError(f"mode: expected words of {sorted(WORDS)}, got {sorted(unknown)}")
        self.layout = torch.channels_last if "channels_last" in self.words else torch.contiguous_format
        self.optimizer_options = {"fused": True} if "fused" in self.words else {}

    def compiled(self, model):
        return torch.compile(model) if "compile" in self.words else model

    def autocast(self):
        return torch.autocast("cpu", torch.bfloat16, enabled="bf16" in self.words)


def peak_memory():
    """Bytes. ru_maxrss would include the process that started this one."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) * 1024
