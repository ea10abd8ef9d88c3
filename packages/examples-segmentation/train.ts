// A U-Net on a ResNet, as fastai's unet_learner: the encoder is frozen in the first epochs, and then trained at a lower rate.
//
//   1 process:    node launch packages/examples-segmentation/train.ts
//   2 processes:  node launch --nproc 2 packages/examples-segmentation/train.ts
//   CamVid:       node launch --nproc 2 packages/examples-segmentation/train.ts --data camvid --mask-suffix _P --classes 32
//                   --encoder resnet34.safetensors --arch resnet34 --width 64 --size 96 128
//
// Without --data, it trains on synthetic scenes of discs, squares and triangles, and needs no network. --encoder takes weights of
// torchvision, saved by safetensors.torch.save_file(torchvision.models.resnet34(weights='DEFAULT').state_dict(), path).
// The defaults reach a Jaccard index (IoU) of at least 0.8.
// All options: node launch packages/examples-segmentation/train.ts --help

import { effectiveBatch, integerFrom } from '@ringrun/examples-common';
import { UNet, encoderNames, sceneClasses, syntheticScenes } from '@ringrun/examples-segmentation';
import type { EncoderName } from '@ringrun/examples-segmentation';
import { F, manualSeed, optim, tensor } from '@ringrun/nn';
import { Accuracy, DiceScore, JaccardIndex, Trainer } from '@ringrun/train';
import { Command, Option } from 'commander';
import * as dist from 'ringrun';

const command = new Command('train.ts')
  .description('Trains a U-Net on images and masks')
  .allowExcessArguments(false)
  .option(
    '--data <location>',
    'folder or s3://bucket/prefix with images/ and labels/; the last tenth validates',
  )
  .option('--mask-suffix <text>', "what a mask's name has after its image's, such as _P", '')
  .option('--classes <n>', 'number of classes of --data', integerFrom(2), sceneClasses.length)
  .option('--size <pixels...>', 'height and width of the images, multiples of 32', integerFrom(32))
  .option('--encoder <file>', "weights of torchvision's ResNet as safetensors; random by default")
  .addOption(new Option('--arch <name>', 'the encoder').choices(encoderNames).default('resnet18'))
  .option('--width <n>', "channels of the encoder's first convolution; 64 for --encoder", integerFrom(1), 16)
  .option('--images <n>', 'synthetic scenes to train on', integerFrom(1), 256)
  .option('--frozen-epochs <n>', 'epochs in which only the decoder is trained', integerFrom(0), 1)
  .option('--epochs <n>', 'epochs in which everything is trained', integerFrom(0), 4)
  .option('--batch-size <n>', 'images per step, summed over all ranks', integerFrom(1), 8)
  .option('--lr <rate>', "the decoder's learning rate", Number, 5e-3)
  .option(
    '--encoder-lr <rate>',
    "the encoder's learning rate; a tenth of --lr with --encoder, else --lr",
    Number,
  );

interface Settings extends Record<
  'classes' | 'width' | 'images' | 'frozenEpochs' | 'epochs' | 'batchSize' | 'lr',
  number
> {
  data?: string;
  maskSuffix: string;
  size?: number[];
  encoder?: string;
  arch: EncoderName;
  encoderLr?: number;
}
const settings = command.parse().opts<Settings>();
const { data, encoder: weights, lr, encoderLr = weights === undefined ? lr : lr / 10 } = settings;
const [height, width = height] = settings.size ?? [data === undefined ? 64 : 96];
const numClasses = data === undefined ? sceneClasses.length : settings.classes;

await dist.initProcessGroup();
const { perRank: batchSize } = effectiveBatch(
  { batchSize: undefined, globalBatchSize: settings.batchSize },
  dist.getWorldSize(),
);
const [trainSet, validationSet] = await dataSets();
const sampler = new dist.DistributedSampler(trainSet, { seed: 1 });
const trainLoader = new dist.DataLoader(trainSet, { batchSize, sampler, dropLast: true, numWorkers: 1 });
const evaluation = new dist.DistributedSampler(validationSet, { shuffle: false, evenDivisible: false });
const validationLoader = new dist.DataLoader(validationSet, { batchSize, sampler: evaluation });

manualSeed(1);
const model = new UNet({ encoder: settings.arch, numClasses, width: settings.width });
if (weights !== undefined) {
  const isHead = (key: string) => key.startsWith('fc.');
  const keyMapping = (key: string) => (isHead(key) ? undefined : key);
  model.encoder.loadStateDict(await dist.loadSafetensors(weights), { keyMapping });
}
const task = { task: 'multiclass', numClasses } as const;
const shared = {
  trainLoader,
  validationLoader,
  inputs: ({ image, mask }: Batch) =>
    [tensor(image.data, image.shape), tensor(mask.data, mask.shape)] as const,
  loss: F.crossEntropy,
  metrics: {
    accuracy: new Accuracy(task),
    iou: new JaccardIndex(task),
    dice: new DiceScore({ numClasses, inputFormat: 'mixed' }),
  },
};
type Batch = dist.Collated<dist.SegmentationSample>;

if (settings.frozenEpochs > 0) {
  model.freeze();
  const optimizer = new optim.AdamW(decoder(), { lr });
  await new Trainer({ maxEpochs: settings.frozenEpochs }).fit(model, { ...shared, optimizer });
  // The next optimizer changes the same parameters.
  optimizer.release();
}
if (settings.epochs > 0) {
  model.unfreeze();
  const groups = [
    { params: [...model.encoder.parameters()], lr: encoderLr },
    { params: decoder(), lr },
  ];
  const optimizer = new optim.AdamW(groups, { lr });
  const steps = trainLoader.length * settings.epochs;
  const scheduler = {
    scheduler: new optim.lrScheduler.OneCycleLR(optimizer, { maxLr: [encoderLr, lr], totalSteps: steps }),
    interval: 'step',
  } as const;
  await new Trainer({ maxEpochs: settings.epochs }).fit(model, { ...shared, optimizer, scheduler });
}
const { accuracy, iou, dice } = await new Trainer().evaluate(model, { ...shared, loader: validationLoader });
if (dist.getRank() === 0)
  console.log(`pixel accuracy ${fixed(accuracy)}, IoU ${fixed(iou)}, Dice ${fixed(dice)}`);
await dist.destroyProcessGroup();

function fixed(value: unknown): string {
  return Number(value).toFixed(4);
}

function decoder() {
  const encoder = new Set(model.encoder.parameters());
  return [...model.parameters()].filter((parameter) => !encoder.has(parameter as never));
}

/** Training images are augmented together with their masks. */
async function dataSets(): Promise<
  [dist.Dataset<dist.SegmentationSample>, dist.Dataset<dist.SegmentationSample>]
> {
  const t = dist.transforms;
  const normalized = [new t.ToTensor(), new t.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])];
  const augmented = new t.Compose([
    new t.ColorJitter({ brightness: 0.2, contrast: 0.2 }),
    new t.RandomRotation(10, { interpolation: 'bilinear' }),
    new t.RandomResizedCrop([height, width], { scale: [0.5, 1] }),
    new t.RandomHorizontalFlip(),
    ...normalized,
  ]);
  const plain = new t.Compose([new t.Resize([height, width]), ...normalized]);
  if (data === undefined)
    return [
      syntheticScenes(settings.images, height, 1, augmented),
      syntheticScenes(Math.max(32, Math.floor(settings.images / 8)), height, 2, plain),
    ];
  const { maskSuffix } = settings;
  const [images, same] = await Promise.all(
    [augmented, plain].map((transform) => dist.loadSegmentationFolder(data, { maskSuffix, transform })),
  );
  const order = [...dist.randomSplit(images, [0.9, 0.1], { seed: 1 })];
  return [order[0], new dist.Subset(same, order[1].indices)];
}
