// CIFAR-10: the CNN of PyTorch's tutorial, or ResNet-18 with --model resnet18, trained on every rank's share of the images.
//
//   1 process:    node launch packages/examples-cifar/train.ts
//   2 processes:  node launch --nproc 2 packages/examples-cifar/train.ts
//   2 hosts:      on both: export WORLD_SIZE=2 MASTER_ADDR=first MASTER_PORT=29500
//                 on the host named first: RANK=0 node --import ringrun/typescript packages/examples-cifar/train.ts
//                 on the other host:       RANK=1 node --import ringrun/typescript packages/examples-cifar/train.ts
//   monitoring:   node launch --nproc 2 packages/examples-cifar/train.ts --dir logs --profile trace.json
//                 tensorboard --logdir logs; open trace.json in ui.perfetto.dev
//
// Without --data, the archive is downloaded once per host. Without a network, use --synthetic.
// All options: node launch packages/examples-cifar/train.ts --help

import { Cnn, ResNet18 } from '@ringrun/examples-cifar';
import { imageTask, parseSettings, run } from '@ringrun/examples-common';
import { cifar10Mean, cifar10Std, loadCifar10, prepareCifar10, transforms } from 'ringrun';

const { Compose, Normalize, RandomCrop, RandomHorizontalFlip, ToTensor } = transforms;
const models = { cnn: () => new Cnn(), resnet18: () => new ResNet18() };

const settings = parseSettings({
  description: "Trains on CIFAR-10: the CNN of PyTorch's tutorial, or ResNet-18",
  models: ['cnn', 'resnet18'],
  data: "folder or s3://bucket/prefix with CIFAR-10's binary version, or its archive",
  savedModel: 'cifar_cnn.onnx',
  epochs: 2,
  momentum: 0.9,
  lr: 0.01,
  augments: true,
});

await run(settings, async () => {
  const { location, title } = await prepareCifar10({
    location: settings.data,
    synthetic: settings.synthetic,
  });
  const asTensors = [new ToTensor(), new Normalize(cifar10Mean, cifar10Std)];
  const augmentation = settings.augment
    ? [new RandomCrop(32, { padding: 4 }), new RandomHorizontalFlip()]
    : [];
  return imageTask(settings, {
    dataTitle: title,
    trainSet: await loadCifar10({
      split: 'train',
      location,
      transform: new Compose([...augmentation, ...asTensors]),
    }),
    testSet: await loadCifar10({ split: 'test', location }),
    classes: 10,
    imageShape: [3, 32, 32],
    createModel: models[settings.model as keyof typeof models],
  });
});
