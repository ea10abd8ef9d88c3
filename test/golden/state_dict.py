# A state dict as PyTorch saves it, for packages/nn/test/nn/torch-state-dict.test.ts. Written with torch 1.13.0 (Debian's python3-torch) and safetensors 0.8.0 (PyPI):
#
#   /usr/bin/python3 test/golden/state_dict.py test/golden/state_dict.safetensors > test/golden/state_dict.json
#
# The file has float32, bfloat16, float16, float64 and int64 tensors. The JSON has torch's results: the float32 parameters and buffers of a model that has
# loaded the file, and its outputs in evaluation mode.

import json
import sys

import torch
import torch.nn as nn
from safetensors.torch import load_file, save_file


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_in = nn.Conv2d(1, 3, 3)
        self.bn1 = nn.BatchNorm2d(3)
        self.fc_out = nn.Linear(3, 2)

    def forward(self, x):
        return self.fc_out(torch.relu(self.bn1(self.conv_in(x))).mean((2, 3)))


torch.manual_seed(0)
net = Net()
with torch.no_grad():
    for _ in range(3):
        net(torch.randn(4, 1, 6, 6))

stored = dict(net.state_dict())
stored["conv_in.weight"] = stored["conv_in.weight"].to(torch.bfloat16)
stored["conv_in.bias"] = stored["conv_in.bias"].to(torch.float16)
stored["fc_out.weight"] = stored["fc_out.weight"].to(torch.float64) / 3
assert stored["bn1.num_batches_tracked"].dtype == torch.int64
save_file(stored, sys.argv[1], metadata={"format": "pt"})

loaded = Net()
loaded.load_state_dict(load_file(sys.argv[1]))
loaded.eval()
input = (torch.arange(36, dtype=torch.float32) / 36).reshape(1, 1, 6, 6)
tensors = {
    key: {"shape": list(tensor.shape), "data": tensor.to(torch.float32).flatten().tolist()}
    for key, tensor in loaded.state_dict().items()
}
print(json.dumps({"state": tensors, "output": loaded(input).flatten().tolist()}, indent=1))
