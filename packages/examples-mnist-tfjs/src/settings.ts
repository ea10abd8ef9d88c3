import { Command, InvalidArgumentError, Option } from 'commander';

/** How the example is trained, as its command line says. */
export interface Settings {
  /** The package of TensorFlow.js. */
  tf: string;
  /** Images per step and rank; these three depend on who computes, unless given. */
  batchSize?: number;
  trainImages?: number;
  testImages?: number;
  epochs: number;
  lr: number;
  momentum: number;
  scaleLr: boolean;
  fp16: boolean;
  seed: number;
  logInterval: number;
  /** A folder or s3://bucket/prefix with the data. */
  data?: string;
  /** Train on synthetic digits instead of downloading MNIST. */
  synthetic: boolean;
  /** A folder for the trained model. */
  saveModel?: string;
  /** A folder for TensorBoard. */
  dir?: string;
  /** A file for a trace of every rank. */
  profile?: string;
}

/** Reads the command line; on `--help` and on what it does not know the process ends, with a message. */
export function parseSettings(args: readonly string[] = process.argv.slice(2)): Settings {
  return new Command('train.ts')
    .description('Trains the CNN of the Kubeflow MNIST example with TensorFlow.js')
    .allowExcessArguments(false)
    .option(
      '--tf <package>',
      'of TensorFlow.js: tfjs-node and tfjs-node-gpu are to be installed',
      '@tensorflow/tfjs',
    )
    .option('--batch-size <n>', 'images per step and rank (default: 64, 8 with plain tfjs)', integerFrom(1))
    .option('--train-images <n>', 'images in an epoch (default: all, 640 with plain tfjs)', integerFrom(1))
    .option('--test-images <n>', 'images that are tested (default: all, 200 with plain tfjs)', integerFrom(1))
    .option('--epochs <n>', 'passes over the training images', integerFrom(1), 1)
    .option('--lr <rate>', 'learning rate', numberFrom0, 0.01)
    .option('--momentum <fraction>', 'momentum of SGD', numberFrom0, 0.5)
    .option('--scale-lr', 'the rate is multiplied by the number of ranks', false)
    .option('--fp16', 'gradients travel as float16', false)
    .option('--seed <n>', 'seed of the order of the images', integerFrom(0), 1)
    .option('--log-interval <n>', 'steps between two lines of the log', integerFrom(1), 10)
    .option(
      '--data <place>',
      "a folder or s3://bucket/prefix with MNIST's four files. Default: a cached or downloaded copy",
    )
    .addOption(
      new Option('--synthetic', 'train on synthetic digits instead of MNIST')
        .default(false)
        .conflicts('data'),
    )
    .option('--save-model <folder>', 'write the model after each epoch, on rank 0')
    .option('--dir <dir>', "a folder for TensorBoard's curves; none are written unless given")
    .option('--profile <file>', 'a trace of every rank, for ui.perfetto.dev: of 50 steps after the first 5')
    .parse(args, { from: 'user' })
    .opts<Settings>();
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
