import { CommandError } from '../../command-error.ts';
import type { NumaBinding } from '../../options/launch-options.ts';

/** A CPU that this process may use, and its place in the topology. */
export interface Cpu {
  readonly id: number;
  /** The lowest CPU of its physical core: hardware threads of one core share it. */
  readonly core: number;
  /** Its NUMA node. */
  readonly node: number;
  readonly socket: number;
  /** The lowest CPU that shares its last-level cache. */
  readonly complex: number;
}

export interface BoundWorker {
  localRank: number;
  /** Workers on this node. */
  processes: number;
  /** NUMA nodes of the GPUs, by local rank; empty without GPUs, or if the nodes are unknown. */
  gpuNodes: readonly number[];
}

/**
 * CPUs to which a worker is bound, ascending, by the rules of torchrun's --numa-binding:
 *
 * - `node`: the CPUs of its NUMA node.
 * - `socket`: the CPUs of that node's socket.
 * - `exclusive`: an equal share of the node's physical cores, used by no other worker.
 * - `core-complex`: CPUs that share one last-level cache; the workers of a NUMA node are spread over its caches.
 *
 * The NUMA node of a worker is that of its GPU. Without GPUs, workers are spread over the nodes in blocks (torchrun
 * refuses this).
 *
 * @throws CommandError if `exclusive` has fewer cores than workers on a NUMA node.
 */
export function cpusToBind(binding: NumaBinding, cpus: readonly Cpu[], worker: BoundWorker): number[] {
  const home = homeOf(worker.localRank, cpus, worker);
  const near = cpus.filter(({ node }) => node === home);
  return chosen(binding, cpus, near, worker)
    .map(({ id }) => id)
    .sort((a, b) => a - b);
}

function chosen(
  binding: NumaBinding,
  cpus: readonly Cpu[],
  near: readonly Cpu[],
  worker: BoundWorker,
): readonly Cpu[] {
  switch (binding) {
    case 'node':
      return near;
    case 'socket':
      return cpus.filter(({ socket }) => near.some((cpu) => cpu.socket === socket));
    case 'exclusive':
      return ownCores(near, neighbours(near, cpus, worker), worker);
    case 'core-complex':
      return oneComplex(near, neighbours(near, cpus, worker).indexOf(worker.localRank));
  }
}

function homeOf(localRank: number, cpus: readonly Cpu[], { processes, gpuNodes }: BoundWorker): number {
  const nodes = ascending(cpus.map(({ node }) => node));
  const ofGpu = gpuNodes[localRank] as number | undefined;
  return ofGpu !== undefined && nodes.includes(ofGpu)
    ? ofGpu
    : nodes[Math.floor((localRank * nodes.length) / processes)];
}

/** Local ranks of the workers on the same NUMA node. */
function neighbours(near: readonly Cpu[], cpus: readonly Cpu[], worker: BoundWorker): number[] {
  const localRanks = Array.from({ length: worker.processes }, (_, localRank) => localRank);
  return localRanks.filter((localRank) => homeOf(localRank, cpus, worker) === near[0].node);
}

/** If the cores cannot be divided equally, the first workers receive one more. */
function ownCores(
  near: readonly Cpu[],
  sharers: readonly number[],
  { localRank }: BoundWorker,
): readonly Cpu[] {
  const cores = ascending(near.map(({ core }) => core));
  if (cores.length < sharers.length) {
    throw new CommandError(
      1,
      `--numa-binding exclusive: expected at least one core per worker, got ${cores.length} cores for the ${sharers.length} workers on NUMA node ${near[0].node}. ` +
        'Start fewer workers, or pass --numa-binding node.',
    );
  }
  const place = sharers.indexOf(localRank);
  const each = Math.floor(cores.length / sharers.length);
  const more = cores.length % sharers.length;
  const first = place * each + Math.min(place, more);
  const own = cores.slice(first, first + each + Number(place < more));
  return near.filter(({ core }) => own.includes(core));
}

/** The largest complex first: this process may be allowed to use only some of the CPUs. */
function oneComplex(near: readonly Cpu[], place: number): readonly Cpu[] {
  const complexes = ascending(near.map(({ complex }) => complex))
    .map((complex) => near.filter((cpu) => cpu.complex === complex))
    .sort((a, b) => b.length - a.length);
  return complexes[place % complexes.length];
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
