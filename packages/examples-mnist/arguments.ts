import { Command, InvalidArgumentError, Option } from 'commander';

export interface Arguments {
  batchSize: number;
  testBatchSize: number;
  epochs: number;
  optimizer: 'sgd' | 'adam';
  lr: number;
  momentum: number;
  seed: number;
  logInterval: number;
  saveModel: string | undefined;
  data: string | undefined;
  backend: 'gloo';
}

/** What is usual for each optimizer. */
const learningRate = { sgd: 0.01, adam: 0.001 };

/** The options of Kubeflow's MNIST example, the optimizer, and where the data is. */
export function parseArguments(): Arguments {
  const { saveModel, lr, ...rest } = new Command('train.ts')
    .description('Trains the CNN of the Kubeflow MNIST example')
    .option('--batch-size <n>', 'training images per step and rank', integerFrom(1), 64)
    .option('--test-batch-size <n>', 'test images per step and rank', integerFrom(1), 1000)
    .option('--epochs <n>', 'passes over the training images', integerFrom(1), 1)
    .addOption(
      new Option('--optimizer <name>', 'how parameters follow their gradients')
        .choices(['sgd', 'adam'])
        .default('sgd'),
    )
    .option('--lr <rate>', 'learning rate (default: 0.01 with sgd, 0.001 with adam)', numberFrom0)
    .option('--momentum <fraction>', 'momentum of SGD', numberFrom0, 0.5)
    .option('--seed <n>', 'seed of the initial parameters and of the order of the images', integerFrom(0), 1)
    .option('--log-interval <n>', 'steps between two lines of the log', integerFrom(1), 10)
    .option('--save-model [file]', 'write the trained model in ONNX format (mnist_cnn.onnx unless named)')
    .option(
      '--data <dir>',
      "a folder or s3://bucket/prefix with MNIST's four files; unless given, a cached or downloaded copy",
    )
    .addOption(
      new Option('--backend <name>', 'what carries the collectives').choices(['gloo']).default('gloo'),
    )
    .allowExcessArguments(false)
    .parse()
    .opts<Omit<Arguments, 'saveModel' | 'lr'> & { saveModel?: string | true; lr?: number }>();
  return {
    ...rest,
    lr: lr ?? learningRate[rest.optimizer],
    saveModel: saveModel === true ? 'mnist_cnn.onnx' : saveModel,
  };
}

function integerFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`An integer of at least ${least} is expected.`);
  };
}

function numberFrom0(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value < Infinity) return value;
  throw new InvalidArgumentError('A number of at least 0 is expected.');
}
