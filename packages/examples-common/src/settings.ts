import { bf16Help } from './mixed-precision.ts';
import { Command, Option } from 'commander';
import { integerFrom, numberFrom0 } from './number-options.ts';
import { outputFile, outputFolder } from './path-options.ts';

/** Training options of an example, parsed from its command line. */
export interface Settings {
  model: string;
  /** Images per step and rank; undefined if `globalBatchSize` is set. */
  batchSize: number | undefined;
  /** Images per step, summed over all ranks. */
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
  /** Train with bfloat16 (autocast). */
  bf16: boolean;
  workers: number;
  seed: number;
  logInterval: number;
  /** Folder or s3://bucket/prefix with the data. */
  data: string | undefined;
  /** Train on synthetic data instead of downloading the real data. */
  synthetic: boolean;
  /** Folder or s3://bucket/prefix for checkpoints. */
  output: string | undefined;
  /** Steps between checkpoints within an epoch. A checkpoint is also written after each epoch. */
  checkpointInterval: number | undefined;
  /** 'auto' (the newest checkpoint in `output`) or the path of a checkpoint. */
  resume: string | undefined;
  /** File or s3://bucket/key for the trained model. */
  saveModel: string | undefined;
  /** TensorBoard log folder. */
  dir: string | undefined;
  histograms: boolean;
  /** Trace file, with the events of every rank. */
  profile: string | undefined;
  compare: boolean;
  backend: 'gloo' | 'nccl';
}

const optimizers = ['sgd', 'adam', 'adamw'] as const;
const schedules = ['constant', 'step', 'cosine', 'onecycle'] as const;
export type OptimizerName = (typeof optimizers)[number];
export type ScheduleName = (typeof schedules)[number];

/** The settings that differ between examples. */
export interface Example {
  description: string;
  /** Names accepted by `--model`. The first one is the default. */
  models: readonly [string, ...string[]];
  /** Description of `--data`. */
  data: string;
  /** Default file of `--save-model`. */
  savedModel: string;
  epochs: number;
  momentum: number;
  /** Learning rate of SGD at 64 images per step. */
  lr: number;
  /** True if training images are augmented, which adds `--no-augment`. */
  augments: boolean;
}

/** Parses the command line. Prints a message and exits the process on `--help` and on invalid options. */
export function parseSettings(example: Example, args: readonly string[] = process.argv.slice(2)): Settings {
  const command = commandOf(example).parse(args, { from: 'user' });
  const { cuda, saveModel, resume, lr, batchSize, ...rest } = command.opts<
    Omit<Settings, 'saveModel' | 'resume' | 'lr'> & Given
  >();
  if (!cuda && rest.backend === 'nccl')
    command.error('error: --no-cuda and --backend nccl contradict each other. Remove one.');
  return {
    ...rest,
    augment: example.augments && rest.augment,
    batchSize: rest.globalBatchSize === undefined ? (batchSize ?? 64) : undefined,
    lr: lr ?? (rest.optimizer === 'sgd' ? example.lr : 0.001),
    resume: resume === true ? 'auto' : resume,
    saveModel: saveModel === true ? example.savedModel : saveModel,
  };
}

/** Options with a computed default or an optional value. */
interface Given {
  cuda: boolean;
  lr?: number;
  resume?: string | true;
  saveModel?: string | true;
}

function commandOf(example: Example): Command {
  const { models, lr } = example;
  const command = new Command('train.ts').description(example.description).allowExcessArguments(false);
  command.addOption(choice('--model <name>', 'model to train', models, models[0]));
  if (example.augments) command.option('--no-augment', 'disable data augmentation');
  return command
    .option('--batch-size <n>', 'training batch size per rank (default: 64)', integerFrom(1))
    .addOption(
      new Option(
        '--global-batch-size <n>',
        'training batch size summed over all ranks; replaces --batch-size',
      )
        .argParser(integerFrom(1))
        .conflicts('batchSize'),
    )
    .option('--test-batch-size <n>', 'test batch size per rank', integerFrom(1), 1000)
    .option('--epochs <n>', 'number of epochs', integerFrom(1), example.epochs)
    .addOption(choice('--optimizer <name>', 'optimizer', optimizers, 'sgd'))
    .option('--lr <rate>', `learning rate (default: ${lr} for sgd, 0.001 for adam and adamw)`, numberFrom0)
    .option(
      '--scale-lr',
      'scale the learning rate linearly with the global batch size, from 64 images',
      false,
    )
    .option('--momentum <fraction>', 'momentum of SGD', numberFrom0, example.momentum)
    .option('--weight-decay <fraction>', 'weight decay', numberFrom0, 0)
    .addOption(choice('--schedule <name>', 'learning rate schedule', schedules, 'constant'))
    .option('--warmup <epochs>', 'epochs of linear learning rate warmup', numberFrom0, 0)
    .option('--bf16', bf16Help, false)
    .option('--workers <n>', 'data loading threads per rank', integerFrom(0), 0)
    .option('--seed <n>', 'random seed for initial parameters and shuffling', integerFrom(0), 1)
    .option('--log-interval <n>', 'steps between log lines', integerFrom(1), 10)
    .option('--data <location>', `${example.data} (default: a cached or downloaded copy)`)
    .addOption(
      new Option('--synthetic', 'train on synthetic data instead of the real data')
        .default(false)
        .conflicts('data'),
    )
    .option(
      '--output <location>',
      'folder or s3://bucket/prefix for checkpoints, written after each epoch (default: no checkpoints)',
      outputFolder,
    )
    .option('--checkpoint-interval <n>', 'also write a checkpoint every n steps', integerFrom(1))
    .option(
      '--resume [checkpoint]',
      'resume from a checkpoint: a path, or auto for the newest in --output (without a value: auto)',
    )
    .option(
      '--save-model [file]',
      `save the trained model in ONNX format to a file or s3://bucket/key (default file: ${example.savedModel})`,
      outputFile,
    )
    .option('--dir <dir>', 'TensorBoard log folder (default: no logs)', outputFolder)
    .addOption(
      new Option(
        '--histograms',
        'log gradient histograms to TensorBoard after each epoch (default folder: logs)',
      )
        .default(false)
        .implies({ dir: 'logs' }),
    )
    .option(
      '--profile <file>',
      'trace file for ui.perfetto.dev: 50 steps of every rank, after 5 warmup steps',
      outputFile,
    )
    .addOption(
      new Option(
        '--compare',
        'train on one rank first, then on all ranks, and print both results side by side',
      )
        .default(false)
        .conflicts(['output', 'resume', 'saveModel', 'dir', 'profile']),
    )
    .addOption(choice('--backend <name>', 'process group backend', ['gloo', 'nccl'], 'gloo'))
    .option('--no-cuda', 'train on the CPU, the default without --backend nccl');
}

function choice(flags: string, description: string, choices: readonly string[], usual: string): Option {
  return new Option(flags, description).choices(choices).default(usual);
}
