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

import { integerFrom, numberFrom0, parseOptions, run, type SharedDefaults } from '@ringrun/examples-common';
import { UNet, encoderNames, sceneClasses, syntheticScenes } from '@ringrun/examples-segmentation';
import type { EncoderName } from '@ringrun/examples-segmentation';
import { F, exportOnnx, optim, tensor } from '@ringrun/nn';
import { Accuracy, DiceScore, JaccardIndex } from '@ringrun/train';
import { Command, Option } from 'commander';
import * as dist from 'ringrun';

interface Own extends Record<'classes' | 'width' | 'images' | 'frozenEpochs', number> {
  data?: string;
  maskSuffix: string;
  size?: number[];
  encoder?: string;
  arch: EncoderName;
  encoderLr?: number;
}
const shared: SharedDefaults<Own> = {
  unit: 'images',
  batch: { global: 8 },
  epochs: 4,
  lr: 5e-3,
  savedModel: 'segmentation.onnx',
};
const command = new Command('train.ts')
  .description('Trains a U-Net on images and masks')
  .option(
    '--data <location>',
    'folder or s3://bucket/prefix with images/ and labels/; the last tenth validates (default: synthetic scenes)',
  )
  .option('--mask-suffix <text>', "what a mask's name has after its image's, such as _P", '')
  .option('--classes <n>', 'number of classes of --data', integerFrom(2), sceneClasses.length)
  .option('--size <pixels...>', 'height and width of the images, multiples of 32', sizes)
  .option('--encoder <file>', "weights of torchvision's ResNet as safetensors (default: random)")
  .addOption(new Option('--arch <name>', 'the encoder').choices(encoderNames).default('resnet18'))
  .option('--width <n>', "channels of the encoder's first convolution; 64 for --encoder", integerFrom(1), 16)
  .option('--images <n>', 'synthetic scenes to train on', integerFrom(1), 256)
  .option(
    '--frozen-epochs <n>',
    'epochs before --epochs, in which only the decoder is trained, at a constant rate',
    integerFrom(0),
    1,
  )
  .option(
    '--encoder-lr <rate>',
    "the encoder's learning rate (default: a tenth of --lr with --encoder, else --lr)",
    numberFrom0,
  );
const settings = parseOptions(command, shared);
const { data, encoder: weights } = settings;
const [height, width = height] = settings.size ?? [data === undefined ? 64 : 96];
const numClasses = data === undefined ? sceneClasses.length : settings.classes;
const classes = { task: 'multiclass', numClasses } as const;

await run(settings, async () => {
  const [trainSet, validationSet] = await dataSets();
  return {
    settings,
    defaults: shared,
    data: { trainSet, validationSet, validationBatchSize: 8, loader: { dropLast: true, numWorkers: 1 } },
    createModel,
    first: {
      name: 'frozen',
      epochs: settings.frozenEpochs,
      begin: (model) => {
        model.freeze();
      },
      end: (model) => {
        model.unfreeze();
      },
      optimization: (model, lr) => ({ optimizer: new optim.AdamW(decoderOf(model), { lr }) }),
    },
    optimization: (model, lr, { stepsPerEpoch, epochs }) => {
      const encoderLr = settings.encoderLr ?? (weights === undefined ? lr : lr / 10);
      const groups = [
        { params: [...model.encoder.parameters()], lr: encoderLr },
        { params: decoderOf(model), lr },
      ];
      const optimizer = new optim.AdamW(groups, { lr });
      const cycle = { maxLr: [encoderLr, lr], totalSteps: stepsPerEpoch * epochs };
      return { optimizer, scheduler: new optim.lrScheduler.OneCycleLR(optimizer, cycle) };
    },
    evaluation: {
      inputs: ({ image, mask }: dist.Collated<dist.SegmentationSample>) => [
        tensor(image.data, image.shape),
        tensor(mask.data, mask.shape),
      ],
      loss: F.crossEntropy,
      metrics: {
        accuracy: new Accuracy(classes),
        iou: new JaccardIndex(classes),
        dice: new DiceScore({ numClasses, inputFormat: 'mixed' }),
      },
    },
    exported: (model) => exportOnnx(model, { inputShape: [1, 3, height, width] }),
    summary: ({ accuracy, iou, dice }) =>
      `pixel accuracy ${accuracy.toFixed(4)}, IoU ${iou.toFixed(4)}, Dice ${dice.toFixed(4)}`,
  };
});

/** Collects the values of `--size`. */
function sizes(text: string, before: readonly number[] = []): number[] {
  return [...before, integerFrom(32)(text)];
}

async function createModel(): Promise<UNet> {
  const model = new UNet({ encoder: settings.arch, numClasses, width: settings.width });
  if (weights !== undefined) {
    const keyMapping = (key: string) => (key.startsWith('fc.') ? undefined : key);
    model.encoder.loadStateDict(await dist.loadSafetensors(weights), { keyMapping });
  }
  return model;
}

function decoderOf(model: UNet) {
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
  const order = [...dist.randomSplit(images, [0.9, 0.1], { seed: settings.seed })];
  return [order[0], new dist.Subset(same, order[1].indices)];
}
