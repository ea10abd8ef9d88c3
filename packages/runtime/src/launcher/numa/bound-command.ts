import { findProgram } from '../executable.ts';
import type { NumaBinding } from '../options/launch-options.ts';
import type { CommandLine } from '../worker-command.ts';
import { cpusToBind } from './binding.ts';
import { readCpus, readGpuNodes } from './topology.ts';

/**
 * Returns a function that wraps the command of a worker in `taskset`, so that the worker and all its threads and
 * processes run on its CPUs. `taskset` sets the affinity and then execs the worker (same pid); Node.js has no API for
 * it.
 *
 * @throws CommandError if the kernel shows no NUMA nodes, or if `taskset` is missing.
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
    '--numa-binding needs it. Install the package util-linux.',
  );
  return ({ command, arguments: args, kind }, localRank) => {
    const own = cpusToBind(binding, cpus, { localRank, processes, gpuNodes });
    return { command: taskset, arguments: ['--cpu-list', own.join(','), command, ...args], kind };
  };
}
