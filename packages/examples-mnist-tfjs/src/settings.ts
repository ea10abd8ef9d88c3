import { integerFrom, numberFrom0, outputFile, outputFolder } from '@ringrun/examples-common/options';
import { Command, Option } from 'commander';

/** Training options, parsed from the command line. */
export interface Settings {
  /** TensorFlow.js package. */
  tf: string;
  /** Images per step and rank. The defaults of this and the next two options depend on the backend of `tf`. */
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
  /** Folder or s3://bucket/prefix with the data. */
  data?: string;
  /** Train on synthetic digits instead of downloading MNIST. */
  synthetic: boolean;
  /** Folder or s3://bucket/prefix for the trained model. */
  saveModel?: string;
  /** TensorBoard log folder. */
  dir?: string;
  /** Trace file, with the events of every rank. */
  profile?: string;
  /** Folder or s3://bucket/prefix for checkpoints, which are written after each epoch. */
  output?: string;
  /** 'auto' (the newest checkpoint in `output`) or the path of a checkpoint. */
  resume?: string;
  backend: 'gloo';
}

/** Parses the command line. Prints a message and exits the process on `--help` and on invalid options. */
export function parseSettings(args: readonly string[] = process.argv.slice(2)): Settings {
  const command = new Command('train.ts')
    .description('Trains the CNN of the Kubeflow MNIST example with TensorFlow.js')
    .allowExcessArguments(false)
    .option(
      '--tf <package>',
      'TensorFlow.js package; install @tensorflow/tfjs-node or @tensorflow/tfjs-node-gpu to use it',
      '@tensorflow/tfjs',
    )
    .option(
      '--batch-size <n>',
      'batch size per rank (default: 64, or 8 with @tensorflow/tfjs)',
      integerFrom(1),
    )
    .option(
      '--train-images <n>',
      'training images per epoch (default: all, or 640 with @tensorflow/tfjs)',
      integerFrom(1),
    )
    .option('--test-images <n>', 'test images (default: all, or 200 with @tensorflow/tfjs)', integerFrom(1))
    .option('--epochs <n>', 'number of epochs', integerFrom(1), 1)
    .option('--lr <rate>', 'learning rate', numberFrom0, 0.01)
    .option('--momentum <fraction>', 'momentum of SGD', numberFrom0, 0.5)
    .option('--scale-lr', 'multiply the learning rate by the number of ranks', false)
    .option('--fp16', 'send gradients as float16', false)
    .option('--seed <n>', 'random seed for shuffling', integerFrom(0), 1)
    .option('--log-interval <n>', 'steps between log lines', integerFrom(1), 10)
    .option(
      '--data <location>',
      "folder or s3://bucket/prefix with MNIST's four files (default: a cached or downloaded copy)",
    )
    .addOption(
      new Option('--synthetic', 'train on synthetic digits instead of MNIST')
        .default(false)
        .conflicts('data'),
    )
    .option(
      '--save-model <location>',
      'folder or s3://bucket/prefix for the model, which rank 0 saves after each epoch',
      outputFolder,
    )
    .option('--dir <dir>', 'TensorBoard log folder (default: no logs)', outputFolder)
    .option(
      '--profile <file>',
      'trace file for ui.perfetto.dev: 50 steps of every rank, after 5 warmup steps',
      outputFile,
    )
    .option(
      '--output <location>',
      'folder or s3://bucket/prefix for checkpoints, written after each epoch (default: no checkpoints)',
      outputFolder,
    )
    .option(
      '--resume [checkpoint]',
      'resume from a checkpoint: a path, or auto for the newest in --output (without a value: auto)',
    )
    // tf's tensors are averaged in the memory of the host, on GPUs too.
    .addOption(new Option('--backend <name>', 'process group backend').choices(['gloo']).default('gloo'))
    .option('--no-cuda', 'train on the CPU, as all packages but @tensorflow/tfjs-node-gpu do')
    .parse(args, { from: 'user' });
  const { cuda, resume, ...settings } = command.opts<Omit<Settings, 'resume'> & Given>();
  if (!cuda && settings.tf === '@tensorflow/tfjs-node-gpu')
    command.error(`error: --no-cuda and --tf ${settings.tf} contradict each other. Remove one.`);
  if ((resume === true || resume === 'auto') && settings.output === undefined)
    command.error('error: --resume without the path of a checkpoint needs --output. Add --output FOLDER.');
  return { ...settings, ...(resume !== undefined && { resume: resume === true ? 'auto' : resume }) };
}

interface Given {
  cuda: boolean;
  resume?: string | true;
}
