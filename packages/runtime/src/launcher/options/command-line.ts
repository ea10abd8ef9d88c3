import type { Command } from 'commander';
import { LaunchError } from '../launch-error.ts';
import { collectAsked, misspeltVariables } from './asked.ts';
import type { Asked } from './asked.ts';
import { launchCommand, refuseForeign } from './command.ts';
import type { LaunchOptions } from './launch-options.ts';
import { settleNodes } from './nodes.ts';
import type { Program } from './program.ts';
import { noStreams } from './streams-by-rank.ts';

export interface ParsedCommandLine {
  options: LaunchOptions;
  /** Warnings for the user about options and variables, one line each. */
  warnings: readonly string[];
}

/** torchrun's default of `--signals-to-handle`. */
const endingSignals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/**
 * Parses the arguments of `ringrun`; for options that are absent, the variables of an operator. Pure, except that
 * commander prints.
 *
 * @throws CommanderError after printing the help, the version or an error; `exitCode` is 0 for the first two.
 * @throws LaunchError with exit code 2 if options or variables contradict each other.
 */
export function parseCommandLine(argv: readonly string[], env: NodeJS.ProcessEnv): ParsedCommandLine {
  const command = launchCommand();
  const see = (option: string) => {
    refuseForeign(command, option);
  };
  command.parse(withDashes(argv, command, see), { from: 'user' });
  const asked = collectAsked(command, env);
  const { warnings, ...placement } = settleNodes(asked, env);
  const options: LaunchOptions = {
    program: settleProgram(command, asked),
    ...placement,
    runId: asked.rdzvId?.value,
    standalone: asked.standalone?.value ?? false,
    localAddress: asked.localAddr?.value,
    maxRestarts: asked.maxRestarts?.value ?? 0,
    monitorIntervalMs: asked.monitorInterval?.value ?? 100,
    role: asked.role?.value ?? 'default',
    logs: settleLogs(asked),
    signalsToHandle: [...new Set([...endingSignals, ...(asked.signalsToHandle?.value ?? [])])],
    gracePeriodMs: asked.gracePeriod?.value ?? 30_000,
    numaBinding: asked.numaBinding?.value,
  };
  return { options, warnings: [...warnings, ...warningsOnLogs(asked), ...misspeltVariables(command, env)] };
}

function settleProgram(command: Command, asked: Asked): Program {
  const [name, ...args] = command.args;
  const isModule = asked.module?.value === true;
  const direct = [asked.noNode, asked.noPython].find((one) => one?.value === true);
  if (isModule && direct) {
    throw new LaunchError(
      2,
      `${asked.module.from} and ${direct.from} contradict each other: the first runs the entry point of a package, the second any program. Remove one.`,
    );
  }
  return { kind: isModule ? 'module' : direct ? 'program' : 'script', name, arguments: args };
}

function settleLogs(asked: Asked): LaunchOptions['logs'] {
  return {
    directory: asked.logDir?.value,
    redirects: asked.redirects?.value ?? noStreams,
    tee: asked.tee?.value ?? noStreams,
    filter: asked.localRanksFilter?.value,
  };
}

function warningsOnLogs({ logDir, redirects, tee }: Asked): string[] {
  if (!logDir || redirects || tee) return [];
  return [`${logDir.from} is set, but no output is written to files. Add --redirects 3 or --tee 3.`];
}

/**
 * Replaces underscores in option names: torchrun accepts --nproc_per_node as well as --nproc-per-node. Does not change
 * values, the script and its arguments.
 *
 * @param see Called with the name of each option.
 */
function withDashes(
  argv: readonly string[],
  command: Command,
  see: (option: string) => void = () => undefined,
): string[] {
  const dashed = [...argv];
  for (let i = 0; i < dashed.length && dashed[i].startsWith('-') && dashed[i] !== '--'; i++) {
    const [name, ...value] = dashed[i].split('=');
    const option = name.replaceAll('_', '-');
    see(option);
    dashed[i] = [option, ...value].join('=');
    const takesNext =
      value.length === 0 &&
      command.options.some((known) => known.required && [known.short, known.long].includes(option));
    if (takesNext) i++;
  }
  return dashed;
}
