import { Command, Option } from 'commander';
import { integerFrom, numberFrom0 } from './number-options.ts';
import { parseOptions, type SharedDefaults, type SharedSettings } from './shared-options.ts';

/** Options of a training on images, parsed from its command line. */
export type Settings = SharedSettings & OwnSettings;

interface OwnSettings {
  model: string;
  testBatchSize: number;
  optimizer: OptimizerName;
  momentum: number;
  weightDecay: number;
  schedule: ScheduleName;
  warmup: number;
  augment: boolean;
  workers: number;
  /** Folder or s3://bucket/prefix with the data. */
  data: string | undefined;
  histograms: boolean;
  compare: boolean;
}

const optimizers = ['sgd', 'adam', 'adamw'] as const;
const schedules = ['constant', 'step', 'cosine', 'onecycle'] as const;
export type OptimizerName = (typeof optimizers)[number];
export type ScheduleName = (typeof schedules)[number];

/** Samples are images, and `--batch-size` is 64. */
export const imageDefaults = { unit: 'images', batch: { perRank: 64 } } as const;

/** The settings that differ between examples with images. */
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
  const shared: SharedDefaults<OwnSettings> = {
    ...imageDefaults,
    epochs: example.epochs,
    lr: {
      help: `${example.lr} for sgd, 0.001 for adam and adamw`,
      of: ({ optimizer }) => (optimizer === 'sgd' ? example.lr : 0.001),
    },
    savedModel: example.savedModel,
  };
  const settings = parseOptions(commandOf(example), shared, args);
  return { ...settings, augment: example.augments && settings.augment };
}

function commandOf(example: Example): Command {
  const { models } = example;
  const command = new Command('train.ts').description(example.description);
  command.addOption(choice('--model <name>', 'model to train', models, models[0]));
  if (example.augments) command.option('--no-augment', 'disable data augmentation');
  return command
    .option('--test-batch-size <n>', 'test batch size per rank', integerFrom(1), 1000)
    .addOption(choice('--optimizer <name>', 'optimizer', optimizers, 'sgd'))
    .option('--momentum <fraction>', 'momentum of SGD', numberFrom0, example.momentum)
    .option('--weight-decay <fraction>', 'weight decay', numberFrom0, 0)
    .addOption(choice('--schedule <name>', 'learning rate schedule', schedules, 'constant'))
    .option('--warmup <epochs>', 'epochs of linear learning rate warmup', numberFrom0, 0)
    .option('--workers <n>', 'data loading threads per rank', integerFrom(0), 0)
    .option('--data <location>', `${example.data} (default: a cached or downloaded copy)`)
    .addOption(
      new Option(
        '--histograms',
        'log gradient histograms to TensorBoard after each epoch (default folder: logs)',
      )
        .default(false)
        .implies({ dir: 'logs' }),
    )
    .addOption(
      new Option(
        '--compare',
        'train on one rank first, then on all ranks, and print both results side by side',
      )
        .default(false)
        .conflicts(['output', 'resume', 'saveModel', 'dir', 'profile', 'logPath']),
    );
}

function choice(flags: string, description: string, choices: readonly string[], usual: string): Option {
  return new Option(flags, description).choices(choices).default(usual);
}
