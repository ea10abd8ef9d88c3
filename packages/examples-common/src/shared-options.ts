import { Option, type Command } from 'commander';
import { integerFrom, numberFrom0 } from './number-options.ts';
import { outputFile, outputFolder } from './path-options.ts';

/** The options that every example has, with the names and meanings of Kubeflow's PyTorch example. */
export interface SharedSettings {
  /** Samples per step and rank; undefined if `globalBatchSize` is set. */
  batchSize: number | undefined;
  /** Samples per step, summed over all ranks. */
  globalBatchSize: number | undefined;
  epochs: number;
  lr: number;
  scaleLr: boolean;
  /** Train with bfloat16 (autocast). */
  bf16: boolean;
  seed: number;
  logInterval: number;
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
  /** File for metrics as JSON lines. */
  logPath: string | undefined;
  /** Trace file, with the events of every rank. */
  profile: string | undefined;
  backend: 'gloo' | 'nccl';
}

/** A number, or one that depends on other options. */
export type NumberDefault<Own> = number | { readonly help: string; readonly of: (options: Own) => number };

/** What the shared options of an example default to. `Own` are the example's own options. */
export interface SharedDefaults<Own> {
  /** Name of a sample in the help: 'images'. */
  unit: string;
  /** Samples per step, per rank or summed over all ranks. `lr` is meant for this batch on one rank. */
  batch: { readonly perRank: number } | { readonly global: number };
  epochs: NumberDefault<Own>;
  lr: NumberDefault<Own>;
  /** Default: 10. */
  logInterval?: number;
  /** Default: no checkpoints within an epoch. */
  checkpointInterval?: number;
  /** Default file of `--save-model`. */
  savedModel: string;
}

/**
 * Parses the shared options and the example's own. Prints a message and exits the process on `--help` and on invalid options.
 *
 * @param command the command with the example's own options
 */
export function parseOptions<Own extends object>(
  command: Command,
  defaults: SharedDefaults<Own>,
  args: readonly string[] = process.argv.slice(2),
): SharedSettings & Own {
  addSharedOptions(command, defaults).allowExcessArguments(false).parse(args, { from: 'user' });
  return settingsOf(command, defaults);
}

function addSharedOptions<Own>(command: Command, defaults: SharedDefaults<Own>): Command {
  const { unit, batch, epochs, lr, logInterval = 10, checkpointInterval, savedModel } = defaults;
  const isGlobal = 'global' in batch;
  const global = `${capacityOf(unit, 'summed over all ranks')}${isGlobal ? ` (default: ${batch.global})` : ''}`;
  const perRank = `${capacityOf(unit, 'and rank')}${isGlobal ? '' : ` (default: ${batch.perRank})`}`;
  return command
    .option('--batch-size <n>', perRank, integerFrom(1))
    .addOption(
      new Option('--global-batch-size <n>', `${global}; replaces --batch-size`)
        .argParser(integerFrom(1))
        .conflicts('batchSize'),
    )
    .option('--epochs <n>', `number of epochs (default: ${helpOf(epochs)})`, integerFrom(1))
    .option('--lr <rate>', `learning rate (default: ${helpOf(lr)})`, numberFrom0)
    .option(
      '--scale-lr',
      `scale the learning rate linearly with the global batch size, from ${usualBatch(defaults)} ${unit}`,
      false,
    )
    .option(
      '--bf16',
      'compute matrix products, convolutions and attention in bfloat16 (mixed precision)',
      false,
    )
    .option('--seed <n>', 'random seed for initial parameters and shuffling', integerFrom(0), 1)
    .option('--log-interval <n>', 'steps between log lines', integerFrom(1), logInterval)
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
    .option(
      '--checkpoint-interval <n>',
      'also write a checkpoint every n steps',
      integerFrom(1),
      checkpointInterval,
    )
    .option(
      '--resume [checkpoint]',
      'resume from a checkpoint: a path, or auto for the newest in --output (without a value: auto)',
    )
    .option(
      '--save-model [file]',
      `save the trained model in ONNX format to a file or s3://bucket/key (default file: ${savedModel})`,
      outputFile,
    )
    .option('--dir <dir>', 'TensorBoard log folder (default: no logs)', outputFolder)
    .option('--log-path <file>', 'append the metrics to this file as JSON lines', outputFile)
    .option(
      '--profile <file>',
      'trace file for ui.perfetto.dev: 50 steps of every rank, after 5 warmup steps',
      outputFile,
    )
    .addOption(
      new Option('--backend <name>', 'process group backend').choices(['gloo', 'nccl']).default('gloo'),
    )
    .option('--no-cuda', 'train on the CPU, the default without --backend nccl');
}

function settingsOf<Own extends object>(
  command: Command,
  { batch, epochs, lr, savedModel }: SharedDefaults<Own>,
): SharedSettings & Own {
  const { cuda, saveModel, resume, ...rest } = command.opts<Given & Own>();
  const fail = (problem: string) => command.error(`error: ${problem}`);
  if (!cuda && rest.backend === 'nccl')
    fail('--no-cuda and --backend nccl contradict each other. Remove one.');
  if ((resume === true || resume === 'auto') && rest.output === undefined)
    fail('--resume without the path of a checkpoint needs --output. Add --output FOLDER.');
  const isGiven = rest.batchSize !== undefined || rest.globalBatchSize !== undefined;
  const own = rest as unknown as Own;
  return {
    ...rest,
    ...own,
    ...(!isGiven && ('global' in batch ? { globalBatchSize: batch.global } : { batchSize: batch.perRank })),
    epochs: rest.epochs ?? valueOf(epochs, own),
    lr: rest.lr ?? valueOf(lr, own),
    resume: resume === true ? 'auto' : resume,
    saveModel: saveModel === true ? savedModel : saveModel,
  };
}

/** Samples per step for which the learning rate is meant. */
export function usualBatch({ batch }: Pick<SharedDefaults<never>, 'batch'>): number {
  return 'global' in batch ? batch.global : batch.perRank;
}

/** Options before their defaults are filled in. */
type Given = Omit<SharedSettings, 'epochs' | 'lr' | 'resume' | 'saveModel'> & {
  cuda: boolean;
  epochs?: number;
  lr?: number;
  resume?: string | true;
  saveModel?: string | true;
};

function capacityOf(unit: string, share: string): string {
  return `${unit} per training step ${share}`;
}

function helpOf<Own>(value: NumberDefault<Own>): string {
  return typeof value === 'number' ? String(value) : value.help;
}

function valueOf<Own>(value: NumberDefault<Own>, options: Own): number {
  return typeof value === 'number' ? value : value.of(options);
}
