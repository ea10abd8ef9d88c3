import { collectives, requireOptions } from '@ringrun/core';
import type { CollectiveName, Collectives } from '@ringrun/core';
import { groupOf, rankInGroup } from './groups.ts';
import type { GroupOption } from './groups.ts';

/*
 * Collectives of the default group, or of the option `group`. Shapes, defaults and errors are the same as for the
 * methods of `ProcessGroup`, except that `src` and `dst` are always ranks of the default group, as in
 * torch.distributed. They must be members of the group. Lists are in the order of the group's ranks.
 */

type Method = (first?: unknown, second?: unknown, third?: unknown) => unknown;

/** Returns the group's method as a function with the option `group`, and its `src` or `dst` as a global rank. */
function onGroup<Name extends keyof Collectives>(name: Name): Collectives<GroupOption>[Name] {
  const isSync = name.endsWith('Sync');
  const { inputs, options: names } = collectives[(isSync ? name.slice(0, -4) : name) as CollectiveName];
  const root = 'src' in names ? 'src' : 'dst' in names ? 'dst' : undefined;
  // Has no rest parameter, because a spread costs a tenth of the shortest collective.
  const call: Method = (first, second, third) => {
    const given = (inputs === 0 ? first : inputs === 1 ? second : third) as RootedOptions | undefined;
    if (root !== undefined) requireOptions(name, given, names);
    const group = groupOf(given ?? {});
    const options =
      root === undefined ? given : { ...given, [root]: rankInGroup(group, root, given?.[root] ?? 0) };
    const methods = group as unknown as Record<keyof Collectives, Method>;
    if (inputs === 0) return methods[name](options);
    return inputs === 1 ? methods[name](first, options) : methods[name](first, second, options);
  };
  const rejecting: Method = async (first, second, third) => await call(first, second, third);
  return (isSync ? call : rejecting) as Collectives<GroupOption>[Name];
}

type RootedOptions = GroupOption & Partial<Record<'src' | 'dst', number>>;

/** Reduces `tensor` over all ranks, in place on every rank (torch.distributed.all_reduce). */
export const allReduce = onGroup('allReduce');

/** `allReduce` on the calling thread. */
export const allReduceSync = onGroup('allReduceSync');

/**
 * Reduces each tensor over all ranks, in place on every rank, in one operation
 * (torch.distributed.all_reduce_coalesced).
 */
export const allReduceCoalesced = onGroup('allReduceCoalesced');

/** `allReduceCoalesced` on the calling thread. */
export const allReduceCoalescedSync = onGroup('allReduceCoalescedSync');

/** Reduces `tensor` over all ranks, in place on rank `dst` only. Default `dst`: 0 (torch.distributed.reduce). */
export const reduce = onGroup('reduce');

/** `reduce` on the calling thread. */
export const reduceSync = onGroup('reduceSync');

/**
 * Reduces `input` over all ranks and stores this rank's part of the result in `output`
 * (torch.distributed.reduce_scatter_tensor, reduce_scatter).
 */
export const reduceScatter = onGroup('reduceScatter');

/** `reduceScatter` on the calling thread. */
export const reduceScatterSync = onGroup('reduceScatterSync');

/** Copies `tensor` from rank `src` to every rank. Default `src`: 0 (torch.distributed.broadcast). */
export const broadcast = onGroup('broadcast');

/** `broadcast` on the calling thread. */
export const broadcastSync = onGroup('broadcastSync');

/**
 * Collects the `input` of every rank in `output`, on every rank (torch.distributed.all_gather_into_tensor, all_gather).
 */
export const allGather = onGroup('allGather');

/** `allGather` on the calling thread. */
export const allGatherSync = onGroup('allGatherSync');

/**
 * Collects the `input` of every rank in the option `output` of rank `dst`. Default `dst`: 0 (torch.distributed.gather).
 */
export const gather = onGroup('gather');

/** `gather` on the calling thread. */
export const gatherSync = onGroup('gatherSync');

/**
 * Distributes the parts of rank `src`'s option `input` to the ranks' `output`. Default `src`: 0
 * (torch.distributed.scatter).
 */
export const scatter = onGroup('scatter');

/** `scatter` on the calling thread. */
export const scatterSync = onGroup('scatterSync');

/**
 * Sends part i of `input` to rank i, and collects the received parts in `output` (torch.distributed.all_to_all_single,
 * all_to_all).
 */
export const allToAll = onGroup('allToAll');

/** `allToAll` on the calling thread. */
export const allToAllSync = onGroup('allToAllSync');

/** Resolves after every rank has called it (torch.distributed.barrier). */
export const barrier = onGroup('barrier');

/** `barrier` that blocks the calling thread. */
export const barrierSync = onGroup('barrierSync');

/** A barrier whose timeout error names all missing ranks, on every rank (torch.distributed.monitored_barrier). */
export const monitoredBarrier = onGroup('monitoredBarrier');

/** `monitoredBarrier` that blocks the calling thread. */
export const monitoredBarrierSync = onGroup('monitoredBarrierSync');

/** Copies the object of rank `src` to every rank. Default `src`: 0 (torch.distributed.broadcast_object_list). */
export const broadcastObject = onGroup('broadcastObject');

/** `broadcastObject` on the calling thread. */
export const broadcastObjectSync = onGroup('broadcastObjectSync');

/** Collects the objects of all ranks on every rank (torch.distributed.all_gather_object). */
export const allGatherObject = onGroup('allGatherObject');

/** `allGatherObject` on the calling thread. */
export const allGatherObjectSync = onGroup('allGatherObjectSync');

/**
 * Collects the objects of all ranks on rank `dst`; returns undefined on the others. Default `dst`: 0
 * (torch.distributed.gather_object).
 */
export const gatherObject = onGroup('gatherObject');

/** `gatherObject` on the calling thread. */
export const gatherObjectSync = onGroup('gatherObjectSync');

/** Sends element i of rank `src`'s `objects` to rank i. Default `src`: 0 (torch.distributed.scatter_object_list). */
export const scatterObject = onGroup('scatterObject');

/** `scatterObject` on the calling thread. */
export const scatterObjectSync = onGroup('scatterObjectSync');
