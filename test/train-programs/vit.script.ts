// A vision transformer on small images, with a warmup and cosine decay that is stepped after each step.
import { F, cat, manualSeed, nn, optim, randn, zeros, type Tensor } from '@ringrun/nn';
import { Accuracy, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

class ViT extends nn.Module {
  readonly patches = new nn.Conv2d(3, 32, 4, { stride: 4 });
  readonly token = new nn.Parameter(zeros(1, 1, 32));
  readonly position = new nn.Parameter(randn(1, 17, 32).mul(0.02));
  readonly encoder: nn.TransformerEncoder;
  readonly head = new nn.Linear(32, 4);

  constructor() {
    super();
    const options = { dropout: 0.1, batchFirst: true, normFirst: true } as const;
    this.encoder = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(32, 4, 64, options), 2);
  }

  forward(images: Tensor): Tensor {
    const patches = this.patches.forward(images).flatten(2).transpose(1, 2);
    const x = cat([this.token.expand(images.shape[0], -1, -1), patches], 1).add(this.position);
    return this.head.forward(this.encoder.forward(x).at([], 0));
  }
}

/** Images of 16 × 16 pixels: waves in one of four directions, with noise. */
const waves = (length: number, shift: number) => ({
  length,
  at: (i: number) => {
    const label = (i * 7 + shift) % 4;
    const pixel = (_: unknown, at: number) => {
      const [x, y, noise] = [at % 16, (at >> 4) % 16, Math.sin((i + shift) * 12.9 + at * 78.2)];
      return Math.sin([x, y, x + y, x - y][label] * 0.8 + i) + 0.3 * noise;
    };
    return {
      image: { data: Float32Array.from({ length: 768 }, pixel), shape: [3, 16, 16] },
      label: BigInt(label),
    };
  },
});

await dist.initProcessGroup();
manualSeed(1);
const model = new ViT();
manualSeed(10 + dist.getRank());
const loaderOf = (dataset: ReturnType<typeof waves>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 16, sampler: new dist.DistributedSampler(dataset, options) });
const trainLoader = loaderOf(waves(384, 0), {});
const optimizer = new optim.AdamW(model.parameters(), { lr: 2e-3, weightDecay: 0.05 });
const steps = 5 * trainLoader.length;
const { CosineAnnealingLR, LinearLR, SequentialLR } = optim.lrScheduler;
const scheduler = new SequentialLR(
  optimizer,
  [new LinearLR(optimizer, { startFactor: 0.1, totalIters: 8 }), new CosineAnnealingLR(optimizer, steps - 8)],
  [8],
);
const { validation } = await new Trainer({ maxEpochs: 5, gradientClipVal: 1, enableProgressBar: false }).fit(
  model,
  {
    trainLoader,
    validationLoader: loaderOf(waves(97, 5000), { shuffle: false, evenDivisible: false }),
    loss: F.crossEntropy,
    optimizer,
    scheduler: { scheduler, interval: 'step' },
    metrics: { accuracy: new Accuracy({ task: 'multiclass', numClasses: 4 }) },
  },
);
const identical = await dist.verifyIdenticalParameters(model);
if (dist.getRank() === 0) console.log(JSON.stringify({ accuracy: validation!['accuracy'], identical }));
await dist.destroyProcessGroup();
