import { collectiveOptions, requireOptions } from '@ringrun/collectives';
import type {
  BroadcastObjectOptions,
  CollectiveOptions,
  GatherObjectOptions,
  ScatterObjectOptions,
} from '@ringrun/collectives';
import { groupOf, rankInGroup } from './groups.ts';
import type { GroupOption } from './groups.ts';

/*
 * Object collectives of the default group, or of the option `group`, as the methods of `ProcessGroup`. `src` and `dst`
 * are ranks of the default group, as in torch.distributed. Lists are in the order of the group's ranks.
 */

/** Copies the object of rank `src` to every rank. Default `src`: 0 (torch.distributed.broadcast_object_list). */
export async function broadcastObject<T>(
  object: T,
  options: BroadcastObjectOptions & GroupOption = {},
): Promise<T> {
  requireOptions('broadcastObject', options, collectiveOptions.broadcastObject);
  const group = groupOf(options);
  return await group.broadcastObject(object, {
    ...options,
    src: rankInGroup(group, 'src', options.src ?? 0),
  });
}

/** `broadcastObject` on the calling thread. */
export function broadcastObjectSync<T>(object: T, options: BroadcastObjectOptions & GroupOption = {}): T {
  requireOptions('broadcastObjectSync', options, collectiveOptions.broadcastObject);
  const group = groupOf(options);
  return group.broadcastObjectSync(object, {
    ...options,
    src: rankInGroup(group, 'src', options.src ?? 0),
  });
}

/** Collects the objects of all ranks on every rank (torch.distributed.all_gather_object). */
export async function allGatherObject<T>(
  object: T,
  options: CollectiveOptions & GroupOption = {},
): Promise<T[]> {
  return await groupOf(options).allGatherObject(object, options);
}

/** `allGatherObject` on the calling thread. */
export function allGatherObjectSync<T>(object: T, options: CollectiveOptions & GroupOption = {}): T[] {
  return groupOf(options).allGatherObjectSync(object, options);
}

/**
 * Collects the objects of all ranks on rank `dst`; returns undefined on the others. Default `dst`: 0
 * (torch.distributed.gather_object).
 */
export async function gatherObject<T>(
  object: T,
  options: GatherObjectOptions & GroupOption = {},
): Promise<T[] | undefined> {
  requireOptions('gatherObject', options, collectiveOptions.gatherObject);
  const group = groupOf(options);
  return await group.gatherObject(object, {
    ...options,
    dst: rankInGroup(group, 'dst', options.dst ?? 0),
  });
}

/** `gatherObject` on the calling thread. */
export function gatherObjectSync<T>(
  object: T,
  options: GatherObjectOptions & GroupOption = {},
): T[] | undefined {
  requireOptions('gatherObjectSync', options, collectiveOptions.gatherObject);
  const group = groupOf(options);
  return group.gatherObjectSync(object, { ...options, dst: rankInGroup(group, 'dst', options.dst ?? 0) });
}

/** Sends element i of rank `src`'s `objects` to rank i. Default `src`: 0 (torch.distributed.scatter_object_list). */
export async function scatterObject<T>(
  objects: readonly T[] | undefined,
  options: ScatterObjectOptions & GroupOption = {},
): Promise<T> {
  requireOptions('scatterObject', options, collectiveOptions.scatterObject);
  const group = groupOf(options);
  return await group.scatterObject(objects, {
    ...options,
    src: rankInGroup(group, 'src', options.src ?? 0),
  });
}

/** `scatterObject` on the calling thread. */
export function scatterObjectSync<T>(
  objects: readonly T[] | undefined,
  options: ScatterObjectOptions & GroupOption = {},
): T {
  requireOptions('scatterObjectSync', options, collectiveOptions.scatterObject);
  const group = groupOf(options);
  return group.scatterObjectSync(objects, {
    ...options,
    src: rankInGroup(group, 'src', options.src ?? 0),
  });
}
