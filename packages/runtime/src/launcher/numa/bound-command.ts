import { findProgram } from '../executable.ts';
import type { NumaBinding } from '../options/launch-options.ts';
import type { CommandLine } from '../worker-command.ts';
import { cpusToBind } from './binding.ts';
import { readCpus, readGpuNodes } from './topology.ts';

/**
 * What starts each of `processes` workers so that it, and every thread and process that it starts, runs on its CPUs alone. `taskset` sets the affinity and then
 * becomes the worker, under the same process id: Node has no call for it.
 *
 * @throws LaunchError where CPUs cannot be told apart, or `taskset` is missing.
 */
export function bindWorkers(
  binding: NumaBinding,
  processes: number,
): (command: CommandLine, localRank: number) => CommandLine {
  const cpus = readCpus();
  const gpuNodes = readGpuNodes();
  const taskset = findProgram(
    'taskset',
    process.env,
    '--numa-binding needs it: it is in the package util-linux.',
  );
  return ({ command, arguments: args, kind }, localRank) => {
    const own = cpusToBind(binding, cpus, { localRank, processes, gpuNodes });
    return { command: taskset, arguments: ['--cpu-list', own.join(','), command, ...args], kind };
  };
}
