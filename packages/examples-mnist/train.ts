// The CNN of Kubeflow's MNIST example, trained on every rank's share of the images.
//
//   1 process:    node launch packages/examples-mnist/train.ts
//   2 processes:  node launch --nproc 2 packages/examples-mnist/train.ts
//   2 hosts:      on both: export WORLD_SIZE=2 MASTER_ADDR=first MASTER_PORT=29500
//                 on the host named first: RANK=0 node --import ringrun/typescript packages/examples-mnist/train.ts
//                 on the other host:       RANK=1 node --import ringrun/typescript packages/examples-mnist/train.ts
//   monitoring:   node launch --nproc 2 packages/examples-mnist/train.ts --dir logs --profile trace.json
//                 tensorboard --logdir logs; open trace.json in ui.perfetto.dev
//
// Without a network, use --data FOLDER, or --synthetic for synthetic digits.
// One epoch on MNIST reaches an accuracy of at least 0.95.
// All options: node launch packages/examples-mnist/train.ts --help

import { imageTask, parseSettings, run } from '@ringrun/examples-common';
import { Net } from '@ringrun/examples-mnist';
import { loadMnist, prepareMnist } from 'ringrun';

const settings = parseSettings({
  description: 'Trains the CNN of the Kubeflow MNIST example',
  models: ['cnn'],
  data: "folder or s3://bucket/prefix with MNIST's four files",
  savedModel: 'mnist_cnn.onnx',
  epochs: 1,
  momentum: 0.5,
  lr: 0.01,
  augments: false,
});

await run(settings, async () => {
  const { location, title } = await prepareMnist({ location: settings.data, synthetic: settings.synthetic });
  return imageTask(settings, {
    dataTitle: title,
    trainSet: await loadMnist({ split: 'train', location }),
    testSet: await loadMnist({ split: 'test', location }),
    classes: 10,
    imageShape: [1, 28, 28],
    createModel: () => new Net(),
  });
});
