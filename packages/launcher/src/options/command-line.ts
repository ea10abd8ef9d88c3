import type { Command } from 'commander';
import { slurmNode } from '@ringrun/core';
import { CommandError } from '../command-error.ts';
import { collectOptions, misspeltVariables } from './requested-options.ts';
import type { RequestedOptions } from './requested-options.ts';
import { launchCommand, refuseForeign } from './command.ts';
import type { LaunchOptions } from './launch-options.ts';
import { resolveNodes } from './nodes.ts';
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
 * @throws CommandError with exit code 2 if options or variables contradict each other.
 */
export function parseCommandLine(argv: readonly string[], env: NodeJS.ProcessEnv): ParsedCommandLine {
  const command = launchCommand();
  const see = (option: string) => {
    refuseForeign(command, option);
  };
  command.parse(withDashes(argv, command, see), { from: 'user' });
  const environment = namesNodes(collectOptions(command, env)) ? env : withSlurm(env);
  const requested = collectOptions(command, environment);
  const { warnings, ...placement } = resolveNodes(requested, environment);
  const options: LaunchOptions = {
    program: resolveProgram(command, requested),
    ...placement,
    runId: requested.rdzvId?.value,
    name: requested.name?.value,
    secretFile: requested.secretFile?.value,
    encrypt: requested.encrypt?.value ?? false,
    links: requested.links?.value,
    saveLinks: requested.saveLinks?.value,
    standalone: requested.standalone?.value ?? false,
    localAddress: requested.localAddr?.value,
    maxRestarts: requested.maxRestarts?.value ?? 0,
    monitorIntervalMs: requested.monitorInterval?.value ?? 100,
    role: requested.role?.value ?? 'default',
    logs: resolveLogs(requested),
    signalsToHandle: [...new Set([...endingSignals, ...(requested.signalsToHandle?.value ?? [])])],
    gracePeriodMs: requested.gracePeriod?.value ?? 30_000,
    dashboard: requested.dashboard?.value || undefined,
    numaBinding: requested.numaBinding?.value,
  };
  return {
    options,
    warnings: [...warnings, ...warningsOnLogs(requested), ...misspeltVariables(command, env)],
  };
}

/** Options that name nodes describe all of them: `srun torchrun --nnodes 2 --rdzv-endpoint head:29500` works as it is. */
function namesNodes({ nnodes, nodeRank, masterAddr, rdzvEndpoint, standalone }: RequestedOptions): boolean {
  return [nnodes, nodeRank, masterAddr, rdzvEndpoint, standalone].some((given) => given !== undefined);
}

/** The environment with the nodes of Slurm's step. Variables that are set override them. */
function withSlurm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  try {
    return { ...slurmNode(env), ...env };
  } catch (error) {
    throw new CommandError(2, (error as Error).message);
  }
}

function resolveProgram(command: Command, requested: RequestedOptions): Program {
  const [name, ...args] = command.args;
  const isModule = requested.module?.value === true;
  const direct = [requested.noNode, requested.noPython].find((one) => one?.value === true);
  if (isModule && direct) {
    throw new CommandError(
      2,
      `${requested.module.from} and ${direct.from} contradict each other: the first runs the entry point of a package, the second any program. Remove one.`,
    );
  }
  return { kind: isModule ? 'module' : direct ? 'program' : 'script', name, arguments: args };
}

function resolveLogs(requested: RequestedOptions): LaunchOptions['logs'] {
  return {
    directory: requested.logDir?.value,
    redirects: requested.redirects?.value ?? noStreams,
    tee: requested.tee?.value ?? noStreams,
    filter: requested.localRanksFilter?.value,
  };
}

function warningsOnLogs({ logDir, redirects, tee }: RequestedOptions): string[] {
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
    const known = command.options.find(({ short, long }) => [short, long].includes(option));
    // An optional value follows `=` only: the next argument is the script.
    if (known?.optional && value.length === 0) value.push('1');
    dashed[i] = [option, ...value].join('=');
    if (known?.required && value.length === 0) i++;
  }
  return dashed;
}
