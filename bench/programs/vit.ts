// A vision transformer that classifies images of 16 × 16 pixels. Its counterpart is vit.py.
import { cat, F, manualSeed, nn, optim, randint, randn, zeros, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

class ViT extends nn.Module {
  patches: nn.Conv2d;
  token: nn.Parameter;
  position: nn.Parameter;
  encoder: nn.TransformerEncoder;
  head: nn.Linear;

  constructor({ classes = 4, patch = 4, dim = 48, depth = 3, heads = 4 } = {}) {
    super();
    this.patches = new nn.Conv2d(3, dim, { kernelSize: patch, stride: patch });
    this.token = new nn.Parameter(zeros(1, 1, dim));
    this.position = new nn.Parameter(randn(1, 17, dim).mul(0.02));
    const layer = new nn.TransformerEncoderLayer(dim, heads, 2 * dim, {
      dropout: 0,
      activation: 'gelu',
      batchFirst: true,
      normFirst: true,
    });
    this.encoder = new nn.TransformerEncoder(layer, depth, { norm: new nn.LayerNorm(dim) });
    this.head = new nn.Linear(dim, classes);
  }

  forward(images: Tensor): Tensor {
    let x = this.patches.forward(images).flatten(2).transpose(1, 2);
    x = cat([this.token.expand(x.size(0), -1, -1), x], 1).add(this.position);
    return this.head.forward(this.encoder.forward(x).at([], 0));
  }
}

export function start(): Program {
  manualSeed(2);
  const model = new ViT();
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3, weightDecay: 0.05 });
  const patterns = randn(4, 3, 16, 16);

  async function step() {
    const labels = randint(0, 4, [32]);
    const images = patterns
      .at(labels)
      .mul(0.5)
      .add(randn(32, 3, 16, 16));
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.forward(images), labels);
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  return { step };
}
