import { Command, InvalidArgumentError, Option } from 'commander';
import { newCommand } from '../../options/new-command.ts';

export interface TopOptions {
  /** A log directory, `host:port` or the URL of a dashboard. Undefined: a job of this user on this host. */
  target: string | undefined;
  /** Print one table and exit. */
  once: boolean;
  /** Print the token of the dashboard and exit. */
  token: boolean;
  intervalMs: number;
  /** --secret-file. */
  secretFile: string | undefined;
}

type ParsedOptions = Pick<TopOptions, 'once' | 'token'> & { secretFile?: string };

const help = `
Examples:
  ringrun top                            a job of this user on this host
  ringrun top logs                       a job that was started with --log-dir logs and --redirects or --tee
  ringrun top 127.0.0.1:29600            a job that was started with --dashboard, with its secret in RINGRUN_SECRET
  ringrun top 'http://127.0.0.1:29600/?token=…'       the same, with the URL that it printed
  ringrun top --once logs                print one table

On a terminal, q or Ctrl-C ends it. Elsewhere it prints a table per interval.
Times and shares are those of the last ten seconds.`;

/** @throws CommanderError after printing the help (`exitCode` 0) or the mistake (`exitCode` 1). */
export function parseTopOptions(argv: readonly string[]): TopOptions {
  const command = topCommand();
  command.parse(argv, { from: 'user' });
  const { interval, ...options } = command.opts<{ interval: number } & ParsedOptions>();
  return {
    ...options,
    target: command.args.at(0),
    intervalMs: 1000 * interval,
    secretFile: options.secretFile,
  };
}

function topCommand(): Command {
  return newCommand('ringrun top')
    .description('Shows loss, rate, waiting and errors of a running job, by rank.')
    .argument('[target]', 'log directory, or host:port or URL of a dashboard')
    .option('--once', 'print one table and exit', false)
    .addOption(
      new Option('--interval <seconds>', 'time between two tables').default(1).argParser(parseInterval),
    )
    .option('--token', 'print the token of the dashboard for the secret of the job, and exit', false)
    .option('--secret-file <path>', 'file with the secret of the job (default: RINGRUN_SECRET)')
    .addHelpText('after', help);
}

function parseInterval(text: string): number {
  const seconds = /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
  if (seconds >= 0.1 && seconds <= 3600) return seconds;
  throw new InvalidArgumentError('Expected seconds from 0.1 to 3600.');
}
