import { createRequire } from 'node:module';
import { Command, InvalidArgumentError, Option } from 'commander';

/** What the command line asks for. */
export interface LaunchOptions {
  /** Path as given. */
  script: string;
  scriptArguments: string[];
  /** Workers on this node; `auto`: one per usable CPU. 1 unless given, as torchrun. */
  processesPerNode: number | 'auto';
  masterAddress: string;
  /** Undefined: a port that is free. */
  masterPort: number | undefined;
  /** Milliseconds that workers get to end after the launcher was told to; 30,000 unless given. */
  gracePeriodMs: number;
}

interface ParsedOptions {
  nproc?: number | 'auto';
  nprocPerNode: number | 'auto';
  masterAddr: string;
  masterPort?: number;
  gracePeriod: number;
}

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const longestGraceSeconds = 24 * 60 * 60;

const examples = `
Examples:
  ringrun --nproc 2 train.ts --epochs 5     two processes on this machine
  ringrun --nproc auto train.js             one process per usable CPU

Options after the script belong to the script. Underscores work as dashes (--nproc_per_node).
Each process sees RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as under torchrun.
The exit code is that of the process that failed first, or 128 + the number of the signal.`;

/**
 * Reads the arguments behind `ringrun`.
 *
 * @throws CommanderError after it printed the help, the version, or what is wrong; its `exitCode` is 0 for the first two.
 */
export function parseCommandLine(argv: readonly string[]): LaunchOptions {
  const command = launchCommand();
  command.parse(withDashes(argv, command), { from: 'user' });
  const [script, ...scriptArguments] = command.args;
  const options = command.opts<ParsedOptions>();
  return {
    script: script,
    scriptArguments,
    processesPerNode: options.nproc ?? options.nprocPerNode,
    masterAddress: options.masterAddr,
    masterPort: options.masterPort,
    gracePeriodMs: options.gracePeriod * 1000,
  };
}

function launchCommand(): Command {
  return (
    new Command('ringrun')
      .description('Runs a training script in several processes that train together.')
      .usage('[options] <script> [arguments of the script]')
      .argument('<script>', '.ts, .mts, .cts, .js, .mjs or .cjs')
      .argument('[arguments...]', 'passed on to the script')
      .addOption(
        new Option('--nproc-per-node <n>', 'processes on this machine, or auto: one per usable CPU')
          .default(1)
          .argParser(parseProcessCount),
      )
      // An option of its own, not a second flag: commander suggests only an option's long flag for a misspelt one.
      .addOption(
        new Option('--nproc <n>', 'short form of --nproc-per-node')
          .conflicts('nprocPerNode')
          .argParser(parseProcessCount),
      )
      .option('--master-addr <host>', 'MASTER_ADDR of the processes', '127.0.0.1')
      .addOption(
        new Option(
          '--master-port <port>',
          'MASTER_PORT of the processes (default: one that is free)',
        ).argParser(parsePort),
      )
      .addOption(
        new Option(
          '--grace-period <seconds>',
          'time to end after SIGTERM, SIGINT, SIGHUP or SIGQUIT, before SIGKILL',
        )
          .default(30)
          .env('RINGRUN_GRACE')
          .argParser(parseGracePeriod),
      )
      .version(version)
      .addHelpText('after', examples)
      .passThroughOptions()
      .configureOutput({
        outputError: (text, write) => {
          write(text.replace(/^error:/, 'ringrun:'));
        },
      })
      .showHelpAfterError('See ringrun --help.')
      .exitOverride()
  );
}

function parseProcessCount(text: string): number | 'auto' {
  if (text === 'auto' || text === 'cpu') return 'auto';
  return parseInteger(text, 1, Number.MAX_SAFE_INTEGER, 'a number of processes from 1, or auto');
}

function parsePort(text: string): number {
  return parseInteger(text, 1, 65535, 'a port from 1 to 65535; leave it out to get one that is free');
}

function parseGracePeriod(text: string): number {
  return parseInteger(text, 0, longestGraceSeconds, `whole seconds from 0 to ${longestGraceSeconds}`);
}

function parseInteger(text: string, least: number, most: number, expected: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

/** torchrun takes --nproc_per_node as well as --nproc-per-node. The script and what follows it stay as they are. */
function withDashes(argv: readonly string[], command: Command): string[] {
  const dashed = [...argv];
  for (let i = 0; i < dashed.length && dashed[i].startsWith('-') && dashed[i] !== '--'; i++) {
    const [name, ...value] = dashed[i].split('=');
    const option = name.replaceAll('_', '-');
    dashed[i] = [option, ...value].join('=');
    const takesNext =
      value.length === 0 && command.options.some((known) => known.required && known.flags.includes(option));
    if (takesNext) i++;
  }
  return dashed;
}
