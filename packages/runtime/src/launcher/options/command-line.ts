import type { Command } from 'commander';
import { LaunchError } from '../launch-error.ts';
import { collectAsked, misspeltVariables } from './asked.ts';
import type { Asked } from './asked.ts';
import { launchCommand, refuseForeign } from './command.ts';
import type { LaunchOptions } from './launch-options.ts';
import { settleNodes } from './nodes.ts';
import type { Program } from './program.ts';
import { noStreams } from './streams-by-rank.ts';
import { withDashes } from './underscores.ts';

export interface ParsedCommandLine {
  options: LaunchOptions;
  /** What a person should know of how the environment was read, a line each. */
  notes: readonly string[];
}

/** Signals that end a job, as torchrun has them. */
const endingSignals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/**
 * Reads the arguments behind `ringrun`, and what an operator's environment says where they say nothing. Pure but for what commander prints.
 *
 * @throws CommanderError after it printed the help, the version, or what is wrong; its `exitCode` is 0 for the first two.
 * @throws LaunchError with exit code 2 for what contradicts itself.
 */
export function parseCommandLine(argv: readonly string[], env: NodeJS.ProcessEnv): ParsedCommandLine {
  const command = launchCommand();
  const see = (option: string) => {
    refuseForeign(command, option);
  };
  command.parse(withDashes(argv, command, see), { from: 'user' });
  const asked = collectAsked(command, env);
  const { notes, ...placement } = settleNodes(asked, env);
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
  return { options, notes: [...notes, ...noteOnLogs(asked), ...misspeltVariables(command, env)] };
}

function settleProgram(command: Command, asked: Asked): Program {
  const [name, ...args] = command.args;
  const isModule = asked.module?.value === true;
  const direct = [asked.noNode, asked.noPython].find((one) => one?.value === true);
  if (isModule && direct) {
    throw new LaunchError(
      2,
      `${asked.module.from} and ${direct.from} contradict each other: the first runs the entry of a package, the second any program. Leave one out.`,
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

function noteOnLogs({ logDir, redirects, tee }: Asked): string[] {
  if (!logDir || redirects || tee) return [];
  return [`${logDir.from} is given, but no output goes to files: add --redirects 3 or --tee 3.`];
}
