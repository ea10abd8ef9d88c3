import { LaunchError } from '../launch-error.ts';
import type { NumaBinding } from '../options/launch-options.ts';

/** A CPU that this process may use, and what it shares. */
export interface Cpu {
  readonly id: number;
  /** The lowest CPU of its physical core: hardware threads of one core share it. */
  readonly core: number;
  /** Its NUMA node: memory to which it is near. */
  readonly node: number;
  readonly socket: number;
  /** The lowest CPU that shares its last level of cache. */
  readonly complex: number;
}

export interface BoundWorker {
  localRank: number;
  /** Workers of this node. */
  processes: number;
  /** NUMA nodes of the GPUs, by local rank; empty where there are none, or it is not known. */
  gpuNodes: readonly number[];
}

/**
 * CPUs to which a worker is bound, ascending, by the rules of torchrun's --numa-binding: those of its NUMA node (`node`); of the socket that the node
 * belongs to (`socket`); an equal part of the node's physical cores, of which each worker has its own (`exclusive`); those that share one last level of
 * cache (`core-complex`), workers of one node taking turns.
 *
 * A worker's node is that of its GPU; without GPUs, which torchrun refuses, workers are spread over the nodes in blocks.
 *
 * @throws LaunchError where a node has fewer cores than workers that each want their own.
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

/** Local ranks of the workers that have the same node. */
function neighbours(near: readonly Cpu[], cpus: readonly Cpu[], worker: BoundWorker): number[] {
  const localRanks = Array.from({ length: worker.processes }, (_, localRank) => localRank);
  return localRanks.filter((localRank) => homeOf(localRank, cpus, worker) === near[0].node);
}

/** The first workers get one core more where the number does not divide. */
function ownCores(
  near: readonly Cpu[],
  sharers: readonly number[],
  { localRank }: BoundWorker,
): readonly Cpu[] {
  const cores = ascending(near.map(({ core }) => core));
  if (cores.length < sharers.length) {
    throw new LaunchError(
      1,
      `--numa-binding exclusive gives each worker cores of its own, but ${sharers.length} workers share the ${cores.length} cores of NUMA node ${near[0].node}. ` +
        'Start fewer workers, or bind them to the node.',
    );
  }
  const place = sharers.indexOf(localRank);
  const each = Math.floor(cores.length / sharers.length);
  const more = cores.length % sharers.length;
  const first = place * each + Math.min(place, more);
  const own = cores.slice(first, first + each + Number(place < more));
  return near.filter(({ core }) => own.includes(core));
}

/** The largest first: a part of the CPUs may be forbidden to this process. */
function oneComplex(near: readonly Cpu[], place: number): readonly Cpu[] {
  const complexes = ascending(near.map(({ complex }) => complex))
    .map((complex) => near.filter((cpu) => cpu.complex === complex))
    .sort((a, b) => b.length - a.length);
  return complexes[place % complexes.length];
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
