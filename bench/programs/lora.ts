// LoRA: a layer of one's own adds low-rank updates to frozen linear layers. Its counterpart is lora.py.
import { F, manualSeed, nn, optim, randn, zeros, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

class LoRALinear extends nn.Module {
  base: nn.Linear;
  A: nn.Parameter;
  B: nn.Parameter;
  scale: number;

  constructor(base: nn.Linear, rank = 4, alpha = 8) {
    super();
    this.base = base.requiresGrad(false);
    this.A = new nn.Parameter(zeros(rank, base.inFeatures));
    this.B = new nn.Parameter(zeros(base.outFeatures, rank));
    nn.init.kaimingUniform(this.A, { a: Math.sqrt(5) });
    this.scale = alpha / rank;
  }

  forward(x: Tensor): Tensor {
    return this.base.forward(x).add(x.matmul(this.A.t()).matmul(this.B.t()).mul(this.scale));
  }
}

class Net extends nn.Module {
  fc1: nn.Linear | LoRALinear = new nn.Linear(32, 128);
  fc2: nn.Linear | LoRALinear = new nn.Linear(128, 128);
  out = new nn.Linear(128, 1);

  forward(x: Tensor): Tensor {
    return this.out.forward(F.gelu(this.fc2.forward(F.gelu(this.fc1.forward(x)))));
  }
}

export function start(): Program {
  manualSeed(8);
  const model = new Net();
  model.requiresGrad(false);
  for (const name of ['fc1', 'fc2'] as const) model[name] = new LoRALinear(model[name] as nn.Linear);
  const trained = model.parameters().filter((parameter) => parameter.requiresGrad);
  const optimizer = new optim.AdamW(trained, { lr: 5e-3 });
  const direction = randn(32, 1).mul(0.3);

  async function step() {
    const x = randn(64, 32);
    const y = x.matmul(direction).tanh();
    optimizer.zeroGrad();
    const loss = F.mseLoss(model.forward(x), y);
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  return { step };
}
