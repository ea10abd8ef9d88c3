// One body with three heads: a class, four numbers, and a yes or no, with a loss each and their sum.
import { F, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { Accuracy, MeanAbsoluteError, Trainer, type Logger } from '@ringrun/train';
import * as dist from 'ringrun';

class MultiTask extends nn.Module {
  readonly body = new nn.Sequential(new nn.Linear(6, 64), new nn.ReLU());
  readonly kind = new nn.Linear(64, 3);
  readonly box = new nn.Linear(64, 4);
  readonly visible = new nn.Linear(64, 1);

  forward(x: Tensor): Record<'kind' | 'box' | 'visible', Tensor> {
    const features = this.body.forward(x);
    const [kind, box, visible] = [this.kind, this.box, this.visible].map((head) => head.forward(features));
    return { kind, box, visible };
  }
}

const objects = (length: number, shift: number) => ({
  length,
  at: (i: number) => {
    const x = Float32Array.from({ length: 6 }, (_, j) => Math.sin((i + shift) * (j + 1) * 7.3));
    const kind = BigInt(x[0] > 0.3 ? 2 : Number(x[1] > 0));
    const box = x.map((value, j) => value / 2 + x[(j + 1) % 6] / 4).slice(0, 4);
    return { x, kind, box, visible: Float32Array.of(Number(x[5] > 0)) };
  },
});
type Found = ReturnType<MultiTask['forward']>;

await dist.initProcessGroup();
manualSeed(1);
const model = new MultiTask();
const loaderOf = (dataset: ReturnType<typeof objects>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 32, sampler: new dist.DistributedSampler(dataset, options) });
const [trainLoader, validationLoader] = [
  loaderOf(objects(768, 0), {}),
  loaderOf(objects(201, 5000), { shuffle: false, evenDivisible: false }),
];
type Batch = typeof trainLoader extends AsyncIterable<infer Each> ? Each : never;

/** The sum, which is minimized, and its parts, which are logged. */
const lossesOf = ({ kind, box, visible }: Batch, found: Found) => {
  const parts = {
    kind: F.crossEntropy(found.kind, tensor(kind.data), { labelSmoothing: 0.05 }),
    box: F.huberLoss(found.box, tensor(box.data, box.shape)),
    visible: F.binaryCrossEntropyWithLogits(found.visible, tensor(visible.data, visible.shape)),
  };
  return { total: parts.kind.add(parts.box.mul(2)).add(parts.visible.mul(0.5)), ...parts };
};
const inputOf = ({ x }: Batch) => tensor(x.data, x.shape);
const names = new Set<string>();
const logger: Logger = {
  logHyperparameters: () => undefined,
  logMetrics: (values) => {
    Object.keys(values).forEach((name) => names.add(name));
  },
  close: () => Promise.resolve(),
};
const trainer = new Trainer({ maxEpochs: 10, enableProgressBar: false, logger, logEveryNSteps: 4 });
const evaluation = {
  batchLoss: (batch: Batch, net: Pick<MultiTask, 'forward'>) => lossesOf(batch, net.forward(inputOf(batch))),
  validationStep: (batch: Batch, net: Pick<MultiTask, 'forward'>) => {
    const found = net.forward(inputOf(batch));
    return { loss: lossesOf(batch, found).total, predictions: found.kind, target: batch.kind };
  },
  metrics: { accuracy: new Accuracy({ task: 'multiclass', numClasses: 3 }) },
};
const optimizer = new optim.Adam(model.parameters(), { lr: 5e-3 });
const { validation } = await trainer.fit(model, { ...evaluation, trainLoader, validationLoader, optimizer });
const boxes = await trainer.evaluate(model, {
  loader: validationLoader,
  validationStep: (batch, net) => ({ predictions: net.forward(inputOf(batch)).box, target: batch.box }),
  metrics: { error: new MeanAbsoluteError({ numOutputs: 4 }) },
});
const identical = await dist.verifyIdenticalParameters(model);
const found = { ...validation, error: boxes['error'], names: [...names].sort() };
if (dist.getRank() === 0) console.log(JSON.stringify({ ...found, identical }));
await dist.destroyProcessGroup();
