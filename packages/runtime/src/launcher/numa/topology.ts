import { join } from 'node:path';
import { namesIn, readText } from '../host-files.ts';
import { CommandError } from '../launch-error.ts';
import type { Cpu } from './binding.ts';

/** The kernel's file systems; tests pass others. */
export interface Roots {
  sys: string;
  proc: string;
}

const ownRoots: Roots = { sys: '/sys', proc: '/proc' };

/**
 * The CPUs that this process may use.
 *
 * @throws CommandError if the kernel shows no NUMA nodes.
 */
export function readCpus({ sys, proc }: Roots = ownRoots): Cpu[] {
  const allowed = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readText(join(proc, 'self/status')))?.[1] ?? '';
  const nodes = readNodes(join(sys, 'devices/system/node'));
  const cpus = parseCpuList(allowed).filter((id) => nodes.has(id));
  if (cpus.length > 0)
    return cpus.map((id) => readCpu(join(sys, `devices/system/cpu/cpu${id}`), id, nodes.get(id)!));
  throw new CommandError(
    1,
    `--numa-binding: expected NUMA nodes in ${join(sys, 'devices/system/node')}, got none. Remove the option.`,
  );
}

/**
 * NUMA nodes of the GPUs by PCI address: CUDA's order with CUDA_DEVICE_ORDER=PCI_BUS_ID, or if all GPUs are equal.
 * Empty if one is unknown.
 */
export function readGpuNodes({ sys, proc }: Roots = ownRoots): number[] {
  const addresses = namesIn(join(proc, 'driver/nvidia/gpus')).sort();
  const nodes = addresses.map((address) =>
    Number(readText(join(sys, 'bus/pci/devices', address.toLowerCase(), 'numa_node')) || '-1'),
  );
  // -1: unknown to the firmware.
  return nodes.every((node) => node >= 0) ? nodes : [];
}

/** Parses `0-2,5`. */
export function parseCpuList(text: string): number[] {
  return text
    .trim()
    .split(',')
    .filter(Boolean)
    .flatMap((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

function readNodes(folder: string): Map<number, number> {
  const names = namesIn(folder).filter((name) => /^node\d+$/.test(name));
  return new Map(
    names.flatMap((name) =>
      parseCpuList(readText(join(folder, name, 'cpulist'))).map(
        (cpu) => [cpu, Number(name.slice(4))] as const,
      ),
    ),
  );
}

function readCpu(folder: string, id: number, node: number): Cpu {
  const lowest = (path: string) => parseCpuList(readText(join(folder, path))).at(0) ?? id;
  return {
    id,
    node,
    core: lowest('topology/thread_siblings_list'),
    socket: Number(readText(join(folder, 'topology/physical_package_id')) || '0'),
    complex: lowest(join('cache', lastCache(join(folder, 'cache')), 'shared_cpu_list')),
  };
}

/** The folder of the cache with the highest level, or `none`, as in some virtual machines. */
function lastCache(folder: string): string {
  const levels = namesIn(folder)
    .filter((name) => name.startsWith('index'))
    .map((name) => ({ name, level: Number(readText(join(folder, name, 'level'))) }));
  return levels.sort((a, b) => b.level - a.level).at(0)?.name ?? 'none';
}
