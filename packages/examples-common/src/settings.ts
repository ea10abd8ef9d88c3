import { statSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';

/** How an example is trained, as its command line says. */
export interface Settings {
  model: string;
  /** Images per step and rank; undefined where `globalBatchSize` says how many all ranks take together. */
  batchSize: number | undefined;
  globalBatchSize: number | undefined;
  testBatchSize: number;
  epochs: number;
  optimizer: OptimizerName;
  lr: number;
  scaleLr: boolean;
  momentum: number;
  weightDecay: number;
  schedule: ScheduleName;
  warmup: number;
  augment: boolean;
  workers: number;
  seed: number;
  logInterval: number;
  /** A folder or s3://bucket/prefix with the data. */
  data: string | undefined;
  /** Train on synthetic data instead of downloading the real data. */
  synthetic: boolean;
  /** A folder or s3://bucket/prefix for checkpoints. */
  output: string | undefined;
  /** Steps between two checkpoints, besides those at the ends of epochs. */
  checkpointInterval: number | undefined;
  /** 'auto', or the path of a checkpoint. */
  resume: string | undefined;
  saveModel: string | undefined;
  /** A folder for TensorBoard. */
  dir: string | undefined;
  histograms: boolean;
  /** A file for a trace of every rank. */
  profile: string | undefined;
  compare: boolean;
  backend: 'gloo' | 'nccl';
}

const optimizers = ['sgd', 'adam', 'adamw'] as const;
const schedules = ['constant', 'step', 'cosine', 'onecycle'] as const;
export type OptimizerName = (typeof optimizers)[number];
export type ScheduleName = (typeof schedules)[number];

/** What differs between examples. */
export interface Example {
  description: string;
  /** The first one is trained unless another is named. */
  models: readonly [string, ...string[]];
  /** What `--data` may name. */
  data: string;
  /** Where `--save-model` puts the model unless told otherwise. */
  savedModel: string;
  epochs: number;
  momentum: number;
  /** Rate of SGD for 64 images a step. */
  lr: number;
  /** Whether there is an augmentation to switch off. */
  augments: boolean;
}

/** Reads the command line; on `--help` and on what it does not know the process ends, with a message. */
export function parseSettings(example: Example, args: readonly string[] = process.argv.slice(2)): Settings {
  const { saveModel, resume, lr, batchSize, ...rest } = commandOf(example)
    .parse(args, { from: 'user' })
    .opts<Omit<Settings, 'saveModel' | 'resume' | 'lr'> & Given>();
  return {
    ...rest,
    augment: example.augments && rest.augment,
    batchSize: rest.globalBatchSize === undefined ? (batchSize ?? 64) : undefined,
    lr: lr ?? (rest.optimizer === 'sgd' ? example.lr : 0.001),
    resume: resume === true ? 'auto' : resume,
    saveModel: saveModel === true ? example.savedModel : saveModel,
  };
}

/** Options whose value may be left out. */
interface Given {
  lr?: number;
  resume?: string | true;
  saveModel?: string | true;
}

function commandOf(example: Example): Command {
  const { models, lr } = example;
  const command = new Command('train.ts').description(example.description).allowExcessArguments(false);
  command.addOption(choice('--model <name>', 'what is trained', models, models[0]));
  if (example.augments) command.option('--no-augment', 'train on the images as they are');
  return command
    .option('--batch-size <n>', 'training images per step and rank (default: 64)', integerFrom(1))
    .addOption(
      new Option('--global-batch-size <n>', 'training images per step of all ranks together')
        .argParser(integerFrom(1))
        .conflicts('batchSize'),
    )
    .option('--test-batch-size <n>', 'test images per step and rank', integerFrom(1), 1000)
    .option('--epochs <n>', 'passes over the training images', integerFrom(1), example.epochs)
    .addOption(choice('--optimizer <name>', 'how parameters follow their gradients', optimizers, 'sgd'))
    .option('--lr <rate>', `learning rate (default: ${lr} with sgd, 0.001 with the others)`, numberFrom0)
    .option('--scale-lr', 'the rate is for 64 images a step, and grows with the images of all ranks', false)
    .option('--momentum <fraction>', 'momentum of SGD', numberFrom0, example.momentum)
    .option('--weight-decay <fraction>', 'weight decay', numberFrom0, 0)
    .addOption(choice('--schedule <name>', 'course of the learning rate', schedules, 'constant'))
    .option('--warmup <epochs>', 'epochs in which the rate rises to its value', numberFrom0, 0)
    .option('--workers <n>', 'threads per rank that load images ahead', integerFrom(0), 0)
    .option('--seed <n>', 'seed of the initial parameters and of the order of the images', integerFrom(0), 1)
    .option('--log-interval <n>', 'steps between two lines of the log', integerFrom(1), 10)
    .option('--data <place>', `${example.data}. Default: a cached or downloaded copy`)
    .addOption(
      new Option('--synthetic', 'train on synthetic data instead of the real data')
        .default(false)
        .conflicts('data'),
    )
    .option(
      '--output <place>',
      'a folder or s3://bucket/prefix for checkpoints, one after each epoch',
      folder,
    )
    .option('--checkpoint-interval <n>', 'steps between two checkpoints within an epoch', integerFrom(1))
    .option(
      '--resume [checkpoint]',
      'go on from a checkpoint; auto, and unless named: the newest in --output',
    )
    .option(
      '--save-model [file]',
      `write the trained model in ONNX format (${example.savedModel} unless named)`,
    )
    .option('--dir <dir>', "a folder for TensorBoard's curves; none are written unless given", folder)
    .addOption(
      new Option(
        '--histograms',
        'histograms of the gradients too, after each epoch (in logs/ unless --dir is given)',
      )
        .default(false)
        .implies({ dir: 'logs' }),
    )
    .option('--profile <file>', 'a trace of every rank, for ui.perfetto.dev: of 50 steps after the first 5')
    .addOption(
      new Option('--compare', 'train the same epochs on one rank alone first, and show both side by side')
        .default(false)
        .conflicts(['output', 'resume', 'saveModel', 'dir', 'profile']),
    )
    .addOption(choice('--backend <name>', 'what carries the collectives', ['gloo', 'nccl'], 'gloo'));
}

function choice(flags: string, description: string, choices: readonly string[], usual: string): Option {
  return new Option(flags, description).choices(choices).default(usual);
}

/** A folder, which need not exist, or a bucket. */
function folder(text: string): string {
  if (statSync(text, { throwIfNoEntry: false })?.isFile() !== true) return text;
  throw new InvalidArgumentError('It is a file; a folder is expected, which need not exist.');
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
