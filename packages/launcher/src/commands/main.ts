// The command `ringrun`. Importing this module runs it.
import { openFilesProblem, otherRuntimeProblem, printableLines } from '@ringrun/core';
import { otherSystemProblem } from '@ringrun/native';
import { CommanderError } from 'commander';
import { CommandError } from '../command-error.ts';
import { findExecutable } from '../job/executable.ts';
import { suggestion } from '../options/nearest.ts';
import { parseCommandLine } from '../options/command-line.ts';

const usageError = 2;
const commands = ['doctor', 'stacks', 'top', 'plan', 'deploy', 'build-native'];

process.exit(await main(process.argv.slice(2)));

async function main(argv: readonly string[]): Promise<number> {
  try {
    // These names cannot be scripts, which have an extension.
    if (argv[0] === 'deploy') return (await import('./deploy/main.ts')).runDeploy(argv.slice(1));
    const problem = otherRuntimeProblem();
    if (problem !== undefined) throw new CommandError(usageError, problem);
    if (argv[0] === 'doctor') return await (await import('./doctor/main.ts')).runDoctor(argv.slice(1));
    const otherSystem = otherSystemProblem();
    if (otherSystem !== undefined) throw new CommandError(usageError, otherSystem);
    if (argv[0] === 'stacks') return await (await import('./stacks.ts')).runStacks(argv.slice(1));
    if (argv[0] === 'top') return await (await import('./top/command.ts')).runTop(argv.slice(1));
    if (argv[0] === 'plan') return (await import('./plan/main.ts')).runPlan(argv.slice(1));
    if (argv[0] === 'build-native') return (await import('@ringrun/native')).buildNative();
    const { options, warnings } = parseCommandLine(argv, process.env);
    const executable = findExecutable(options.program);
    for (const warning of warnings) process.stderr.write(`ringrun: ${printableLines(warning)}\n`);
    // Imported late, because a command line with a mistake needs none of it.
    const { launch } = await import('../job/launch.ts');
    return await launch(options, executable);
  } catch (error) {
    if (error instanceof CommandError && isMisspeltCommand(argv)) {
      process.stderr.write(`ringrun: ${printableLines(error.message)}${suggestion(argv[0], commands)}\n`);
      return error.exitCode;
    }
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageError;
    if (error instanceof CommandError) {
      process.stderr.write(`ringrun: ${printableLines(error.message)}\n`);
      return error.exitCode;
    }
    const shortage = openFilesProblem(error);
    if (shortage === undefined) throw error;
    process.stderr.write(`ringrun: ${shortage}.\n`);
    return 1;
  }
}

/** A script has an extension, and a path usually a slash. */
function isMisspeltCommand(argv: readonly string[]): boolean {
  return argv.length > 0 && !commands.includes(argv[0]) && /^[\w-]+$/.test(argv[0]);
}
