// A layer and a function of one's own: radial basis functions, whose activation has a gradient written by hand.
import { F, autograd, manualSeed, nn, optim, rand, type Tensor } from '@ringrun/nn';
import { R2Score, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

/** exp(-x), with the gradient -exp(-x) from its own output (torch.autograd.Function). */
class Decay extends autograd.Function {
  static forward(context: autograd.FunctionContext, x: Tensor): Tensor {
    const y = x.neg().exp();
    context.saveForBackward(y);
    return y;
  }

  static backward(context: autograd.FunctionContext, gradient: Tensor): Tensor {
    const [y] = context.savedTensors;
    return gradient.mul(y).neg();
  }
}

/** Bells around learned centres: [N, inputs] to [N, outputs]. */
class RadialBasis extends nn.Module {
  readonly centres: nn.Parameter;
  readonly logWidths: nn.Parameter;

  constructor(inputs: number, outputs: number) {
    super();
    this.centres = new nn.Parameter(rand(outputs, inputs).mul(4).sub(2));
    this.logWidths = new nn.Parameter(rand(outputs).sub(0.5));
  }

  forward(x: Tensor): Tensor {
    const distances = x.unsqueeze(1).sub(this.centres).square().sum([2]);
    return Decay.apply(distances.mul(this.logWidths.exp()));
  }
}

/** z = sin(x) · cos(y) */
const surface = (length: number, shift: number) => ({
  length,
  at: (i: number) => {
    const at = Float32Array.of(2 * Math.sin((i + shift) * 12.9), 2 * Math.cos((i + shift) * 78.2));
    return { at, z: Float32Array.of(Math.sin(at[0]) * Math.cos(at[1])) };
  },
});

await dist.initProcessGroup();
manualSeed(1);
const model = new nn.Sequential(new RadialBasis(2, 32), new nn.Linear(32, 1));
const loaderOf = (dataset: ReturnType<typeof surface>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 32, sampler: new dist.DistributedSampler(dataset, options) });
const { validation } = await new Trainer({ maxEpochs: 20, enableProgressBar: false }).fit(model, {
  trainLoader: loaderOf(surface(512, 0), {}),
  validationLoader: loaderOf(surface(101, 5000), { shuffle: false, evenDivisible: false }),
  loss: F.mseLoss,
  optimizer: new optim.Adam(model.parameters(), { lr: 0.02 }),
  metrics: { r2: new R2Score() },
});
const identical = await dist.verifyIdenticalParameters(model);
if (dist.getRank() === 0) console.log(JSON.stringify({ r2: validation!['r2'], identical }));
await dist.destroyProcessGroup();
