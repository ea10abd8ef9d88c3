import { InvalidArgumentError } from '@ringrun/core';
import type { GroupHosts, MeasureLinksOptions } from '../links/group-links.ts';
import type { Links, ReduceOp, StartableOperation } from '@ringrun/core';
import type { LeavesGroup } from './destroy-listeners.ts';
import { NativeGroupBase } from './native-group.ts';
import type { HostMemory } from './native-group.ts';

/*
 * Operations on a process group that only ringrun's packages use, beyond the interface `ProcessGroup`. Groups of other
 * classes, such as those that users implement, do not support them.
 */

/**
 * True if an operation of the group has failed on this rank, so that no further operation runs.
 *
 * @internal
 */
export function hasFailed(group: object): boolean {
  return group instanceof NativeGroupBase && group.hasFailed;
}

/**
 * Maps `length` zeros on all ranks of a host. A collective of all ranks of the group, which blocks the calling thread. The
 * group must share memory (transport `shm` or `mixed`).
 *
 * @internal
 */
export function shareMemorySync(group: object, length: number): HostMemory {
  if (group instanceof NativeGroupBase) return group.shareMemorySync(length);
  throw new InvalidArgumentError('Memory can be shared only in a group of initProcessGroup or newGroup.');
}

/**
 * For an array from `allocateSync`: views of the same elements in the memory of each rank, in rank order, including
 * this rank's own array. Undefined unless all ranks of the group share memory. Call it once for each array. The views
 * are detached together with this rank's array. Not a collective.
 *
 * @internal
 */
export function slicesOfRanks(group: object, data: Float32Array): readonly Float32Array[] | undefined {
  if (!(group instanceof NativeGroupBase) || group.transport !== 'shm') return undefined;
  return group.slicesOfRanks(data);
}

/**
 * Calls `leaveGroup` when `destroy` of the group has ended on this rank, even if it failed. The group does not keep the object.
 *
 * @internal
 */
export function whenDestroyed(group: object, one: LeavesGroup): void {
  if (group instanceof NativeGroupBase) group.addLeaving(one);
}

/**
 * Resolves when every rank of the group has called it. It is one of the group's collectives: ranks that call a
 * different collective throw CollectiveMismatchError at once.
 *
 * @internal
 */
export async function beginNewGroup(group: object, timeoutMs: number): Promise<void> {
  if (group instanceof NativeGroupBase) await group.beginNewGroup(timeoutMs);
}

/**
 * An all-reduce of float32 memory of `allocateSync` that a library starts while it computes. Undefined if this group can
 * only be called from JavaScript now.
 *
 * @param copy memory from `allocateSync` of the same length, into which `data` is copied before each all-reduce, even
 * if the all-reduce fails. Default: none.
 * @internal
 */
export function prepareAllReduce(
  group: object,
  data: Float32Array,
  op: ReduceOp,
  copy?: Float32Array,
): StartableOperation | undefined {
  return group instanceof NativeGroupBase ? group.prepareAllReduce(data, op, copy) : undefined;
}

/**
 * A barrier that a library starts while it computes. Undefined if this group can only be called from JavaScript now.
 *
 * @internal
 */
export function prepareBarrier(group: object): StartableOperation | undefined {
  return group instanceof NativeGroupBase ? group.prepareBarrier() : undefined;
}

/**
 * The links between the group's hosts that its collectives follow. Undefined if it was formed without the option `links`.
 *
 * @internal
 */
export function groupLinks(group: object): Links | undefined {
  return group instanceof NativeGroupBase ? group.links.current : undefined;
}

/**
 * Whether the group's collectives follow links that were measured. The same on all ranks.
 *
 * @internal
 */
export function followsMeasuredLinks(group: object): boolean {
  return group instanceof NativeGroupBase && group.links.areMeasured;
}

/**
 * The group's hosts, in the order of the hosts of its links. Undefined for groups of other classes.
 *
 * @internal
 */
export function groupHosts(group: object): GroupHosts | undefined {
  return group instanceof NativeGroupBase ? group.links.hosts : undefined;
}

/**
 * Measures the links between the group's hosts. A collective.
 *
 * @internal
 */
export async function measureGroupLinks(group: object, options: MeasureLinksOptions): Promise<Links> {
  if (group instanceof NativeGroupBase) return await group.measureLinks(options);
  throw new InvalidArgumentError(
    'measureLinks: expected a group of initProcessGroup or newGroup, got a group of another class, whose links cannot be measured.',
  );
}
