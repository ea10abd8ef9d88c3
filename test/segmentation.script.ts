// A U-Net whose encoder is frozen first: see segmentation.test.ts.
import { Writable } from 'node:stream';
import { UNet, syntheticScenes } from '@ringrun/examples-segmentation';
import { F, manualSeed, optim, tensor } from '@ringrun/nn';
import { Trainer } from '@ringrun/train';
import * as dist from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

/** The parameters of the encoder and of the decoder, and the running statistics of the encoder. */
function valuesOf(model: UNet) {
  const encoder = [...model.encoder.parameters()];
  const decoder = [...model.parameters()].filter((parameter) => !encoder.includes(parameter));
  const flat = (all: Iterable<{ data: Float32Array }>) => [...all].flatMap(({ data }) => [...data]);
  return {
    encoder: flat(encoder),
    decoder: flat(decoder),
    statistics: [...model.encoder.bn1.runningMean!.data],
  };
}

await runScenario({
  unfreeze: async () => {
    manualSeed(1);
    const model = new UNet({ encoder: 'resnet18', numClasses: 4, width: 4 });
    const transform = new dist.transforms.Compose([
      new dist.transforms.RandomHorizontalFlip(),
      new dist.transforms.ToTensor(),
    ]);
    const dataset = syntheticScenes(8, 32, 1, transform);
    const sampler = new dist.DistributedSampler(dataset);
    const trainLoader = new dist.DataLoader(dataset, { batchSize: 2, sampler });
    type Batch = dist.Collated<dist.SegmentationSample>;
    const inputs = ({ image, mask }: Batch) =>
      [tensor(image.data, image.shape), tensor(mask.data, mask.shape)] as const;
    const shared = { trainLoader, inputs, loss: F.crossEntropy };
    const output = new Writable({
      write: (_chunk, _encoding, done) => {
        done();
      },
    });
    const quiet = { report: { output } };
    const { encoder: body } = model;
    const rest = [...model.parameters()].filter((parameter) => ![...body.parameters()].includes(parameter));
    const start = valuesOf(model);
    model.freeze();
    const first = new optim.SGD(rest, { lr: 0.1 });
    await new Trainer({ maxSteps: 3, ...quiet }).fit(model, { ...shared, optimizer: first });
    first.release();
    const frozen = valuesOf(model);
    model.unfreeze();
    const groups = [{ params: [...body.parameters()], lr: 1e-4 }, { params: rest }];
    const optimizer = new optim.SGD(groups, { lr: 0.1 });
    await new Trainer({ maxSteps: 3, ...quiet }).fit(model, { ...shared, optimizer });
    return { start, frozen, unfrozen: valuesOf(model) };
  },
});
