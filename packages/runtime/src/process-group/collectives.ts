import { collectiveOptions, requireOptions } from '@ringrun/collectives';
import type {
  AllReduceOptions,
  AllToAllOptions,
  BroadcastOptions,
  BufferByRank,
  CollectiveBuffer,
  CollectiveOptions,
  GatherOptions,
  ReduceOptions,
  ReduceScatterOptions,
  ScatterOptions,
} from '@ringrun/collectives';
import { groupOf, rankInGroup } from './groups.ts';
import type { GroupOption } from './groups.ts';

/*
 * Collectives of the default group, or of the option `group`. Shapes, defaults and errors are the same as for the
 * methods of `ProcessGroup`, except that `src` and `dst` are always ranks of the default group, as in
 * torch.distributed. They must be members of the group.
 */

/** Reduces `tensor` over all ranks, in place on every rank (torch.distributed.all_reduce). */
export async function allReduce(
  tensor: CollectiveBuffer,
  options: AllReduceOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).allReduce(tensor, options);
}

/** `allReduce` on the calling thread. */
export function allReduceSync(tensor: CollectiveBuffer, options: AllReduceOptions & GroupOption = {}): void {
  groupOf(options).allReduceSync(tensor, options);
}

/**
 * Reduces each tensor over all ranks, in place on every rank, in one operation
 * (torch.distributed.all_reduce_coalesced).
 */
export async function allReduceCoalesced(
  tensors: readonly CollectiveBuffer[],
  options: AllReduceOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).allReduceCoalesced(tensors, options);
}

/** `allReduceCoalesced` on the calling thread. */
export function allReduceCoalescedSync(
  tensors: readonly CollectiveBuffer[],
  options: AllReduceOptions & GroupOption = {},
): void {
  groupOf(options).allReduceCoalescedSync(tensors, options);
}

/** Reduces `tensor` over all ranks, in place on rank `dst` only. Default `dst`: 0 (torch.distributed.reduce). */
export async function reduce(
  tensor: CollectiveBuffer,
  options: ReduceOptions & GroupOption = {},
): Promise<void> {
  requireOptions('reduce', options, collectiveOptions.reduce);
  const group = groupOf(options);
  await group.reduce(tensor, { ...options, dst: rankInGroup(group, 'dst', options.dst ?? 0) });
}

/** `reduce` on the calling thread. */
export function reduceSync(tensor: CollectiveBuffer, options: ReduceOptions & GroupOption = {}): void {
  requireOptions('reduceSync', options, collectiveOptions.reduce);
  const group = groupOf(options);
  group.reduceSync(tensor, { ...options, dst: rankInGroup(group, 'dst', options.dst ?? 0) });
}

/**
 * Reduces `input` over all ranks and stores this rank's part of the result in `output`
 * (torch.distributed.reduce_scatter_tensor, reduce_scatter).
 */
export async function reduceScatter(
  output: CollectiveBuffer,
  input: BufferByRank,
  options: ReduceScatterOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).reduceScatter(output, input, options);
}

/** `reduceScatter` on the calling thread. */
export function reduceScatterSync(
  output: CollectiveBuffer,
  input: BufferByRank,
  options: ReduceScatterOptions & GroupOption = {},
): void {
  groupOf(options).reduceScatterSync(output, input, options);
}

/** Copies `tensor` from rank `src` to every rank. Default `src`: 0 (torch.distributed.broadcast). */
export async function broadcast(
  tensor: CollectiveBuffer,
  options: BroadcastOptions & GroupOption = {},
): Promise<void> {
  requireOptions('broadcast', options, collectiveOptions.broadcast);
  const group = groupOf(options);
  await group.broadcast(tensor, { ...options, src: rankInGroup(group, 'src', options.src ?? 0) });
}

/** `broadcast` on the calling thread. */
export function broadcastSync(tensor: CollectiveBuffer, options: BroadcastOptions & GroupOption = {}): void {
  requireOptions('broadcastSync', options, collectiveOptions.broadcast);
  const group = groupOf(options);
  group.broadcastSync(tensor, { ...options, src: rankInGroup(group, 'src', options.src ?? 0) });
}

/**
 * Collects the `input` of every rank in `output`, on every rank (torch.distributed.all_gather_into_tensor, all_gather).
 */
export async function allGather(
  output: BufferByRank,
  input: CollectiveBuffer,
  options: CollectiveOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).allGather(output, input, options);
}

/** `allGather` on the calling thread. */
export function allGatherSync(
  output: BufferByRank,
  input: CollectiveBuffer,
  options: CollectiveOptions & GroupOption = {},
): void {
  groupOf(options).allGatherSync(output, input, options);
}

/**
 * Collects the `input` of every rank in the option `output` of rank `dst`. Default `dst`: 0 (torch.distributed.gather).
 */
export async function gather(
  input: CollectiveBuffer,
  options: GatherOptions & GroupOption = {},
): Promise<void> {
  requireOptions('gather', options, collectiveOptions.gather);
  const group = groupOf(options);
  await group.gather(input, { ...options, dst: rankInGroup(group, 'dst', options.dst ?? 0) });
}

/** `gather` on the calling thread. */
export function gatherSync(input: CollectiveBuffer, options: GatherOptions & GroupOption = {}): void {
  requireOptions('gatherSync', options, collectiveOptions.gather);
  const group = groupOf(options);
  group.gatherSync(input, { ...options, dst: rankInGroup(group, 'dst', options.dst ?? 0) });
}

/**
 * Distributes the parts of rank `src`'s option `input` to the ranks' `output`. Default `src`: 0
 * (torch.distributed.scatter).
 */
export async function scatter(
  output: CollectiveBuffer,
  options: ScatterOptions & GroupOption = {},
): Promise<void> {
  requireOptions('scatter', options, collectiveOptions.scatter);
  const group = groupOf(options);
  await group.scatter(output, { ...options, src: rankInGroup(group, 'src', options.src ?? 0) });
}

/** `scatter` on the calling thread. */
export function scatterSync(output: CollectiveBuffer, options: ScatterOptions & GroupOption = {}): void {
  requireOptions('scatterSync', options, collectiveOptions.scatter);
  const group = groupOf(options);
  group.scatterSync(output, { ...options, src: rankInGroup(group, 'src', options.src ?? 0) });
}

/**
 * Sends part i of `input` to rank i, and collects the received parts in `output` (torch.distributed.all_to_all_single,
 * all_to_all).
 */
export async function allToAll(
  output: BufferByRank,
  input: BufferByRank,
  options: AllToAllOptions & GroupOption = {},
): Promise<void> {
  await groupOf(options).allToAll(output, input, options);
}

/** `allToAll` on the calling thread. */
export function allToAllSync(
  output: BufferByRank,
  input: BufferByRank,
  options: AllToAllOptions & GroupOption = {},
): void {
  groupOf(options).allToAllSync(output, input, options);
}

/** Resolves after every rank has called it (torch.distributed.barrier). */
export async function barrier(options: CollectiveOptions & GroupOption = {}): Promise<void> {
  await groupOf(options).barrier(options);
}

/** `barrier` that blocks the calling thread. */
export function barrierSync(options: CollectiveOptions & GroupOption = {}): void {
  groupOf(options).barrierSync(options);
}

/** A barrier whose timeout error names all missing ranks, on every rank (torch.distributed.monitored_barrier). */
export async function monitoredBarrier(options: CollectiveOptions & GroupOption = {}): Promise<void> {
  await groupOf(options).monitoredBarrier(options);
}

/** `monitoredBarrier` that blocks the calling thread. */
export function monitoredBarrierSync(options: CollectiveOptions & GroupOption = {}): void {
  groupOf(options).monitoredBarrierSync(options);
}
