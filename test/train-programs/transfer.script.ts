// Transfer learning: the layers of a network that was trained on one task are frozen, and a new head learns another.
import { join } from 'node:path';
import { F, manualSeed, nn, optim, type Tensor } from '@ringrun/nn';
import { Accuracy, ModelCheckpoint, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

class Net extends nn.Module {
  readonly features = new nn.Sequential(
    new nn.Conv2d(1, 8, 3, { padding: 1 }),
    new nn.BatchNorm2d(8),
    new nn.Conv2d(8, 16, 3, { padding: 1, stride: 2 }),
    new nn.ReLU(),
    new nn.AdaptiveAvgPool2d(1),
  );
  readonly head: nn.Linear;

  constructor(classes: number) {
    super();
    this.head = new nn.Linear(16, classes);
  }

  forward(images: Tensor): Tensor {
    return this.head.forward(this.features.forward(images).flatten(1));
  }

  /** Frozen layers stay in evaluation mode: their running statistics are those of their weights. */
  override train(mode = true): this {
    super.train(mode);
    if (![...this.features.parameters()].some(({ requiresGrad }) => requiresGrad)) this.features.eval();
    return this;
  }
}

type Task = 'pattern' | 'width';

/** Stripes of 12 × 12 pixels of three directions and two widths; a task is to find both, or the width. */
const stripes = (length: number, shift: number, task: Task) => ({
  length,
  at: (i: number) => {
    const [direction, width] = [i % 3, Math.floor(i / 3) % 2];
    const pixel = (_: unknown, at: number) => {
      const along = [at % 12, Math.floor(at / 12), (at % 12) + Math.floor(at / 12)][direction];
      return Math.sin(along * (width === 0 ? 1.8 : 0.7) + i) + 0.3 * Math.sin((i + shift) * 12.9 + at * 78.2);
    };
    const image = { data: Float32Array.from({ length: 144 }, pixel), shape: [1, 12, 12] };
    return { image, label: BigInt(task === 'pattern' ? 2 * direction + width : width) };
  },
});

await dist.initProcessGroup();
const best = new ModelCheckpoint({ dir: join(process.argv[2], 'pretrained'), monitor: 'val/loss' });
/** Trains the parameters that are not frozen. */
async function fit(model: Net, task: Task, callbacks: ModelCheckpoint[] = []) {
  const loaderOf = (dataset: ReturnType<typeof stripes>, options: dist.DistributedSamplerOptions) =>
    new dist.DataLoader(dataset, { batchSize: 16, sampler: new dist.DistributedSampler(dataset, options) });
  const trained = [...model.parameters()].filter(({ requiresGrad }) => requiresGrad);
  const { validation } = await new Trainer({ maxEpochs: 6, callbacks, enableProgressBar: false }).fit(model, {
    trainLoader: loaderOf(stripes(288, 0, task), {}),
    validationLoader: loaderOf(stripes(96, 5000, task), { shuffle: false, evenDivisible: false }),
    loss: F.crossEntropy,
    optimizer: new optim.Adam(trained, { lr: 1e-2 }),
    metrics: { accuracy: new Accuracy({ task: 'multiclass', numClasses: model.head.outFeatures }) },
  });
  return validation!['accuracy'];
}
manualSeed(1);
const before = await fit(new Net(6), 'pattern', [best]);
await dist.barrier();
const model = new Net(2);
const pretrained = await dist.loadSafetensors(best.bestModelPath!);
const keyMapping = (key: string) => (key.startsWith('head') ? undefined : key);
model.loadStateDict(pretrained, { strict: false, keyMapping });
model.features.requiresGrad(false);
const features = dist.parametersDigest(model.features);
const accuracy = await fit(model, 'width');
const isFrozen = dist.parametersDigest(model.features) === features;
const identical = await dist.verifyIdenticalParameters(model);
if (dist.getRank() === 0) console.log(JSON.stringify({ before, accuracy, isFrozen, identical }));
await dist.destroyProcessGroup();
