import { NcclGroup, RingrunError, requireOptions } from '@ringrun/collectives';
import type { OptionNames, ProcessGroup } from '@ringrun/collectives';
import { globalRankAmong, groupRankAmong } from './ranks.ts';
import { readyState } from './state.ts';

/** Which group an operation runs in. */
export interface GroupOption {
  /** The default group unless given. Null, which newGroup returns on ranks that are not in a group, is refused with RingrunError `ERR_NOT_IN_GROUP`. */
  group?: ProcessGroup | null;
}

export interface NewGroupOptions {
  /** Milliseconds that meeting the group's ranks may take, and each of its operations afterwards; those of the default group unless given. */
  timeoutMs?: number;
}

const newGroupOptions: OptionNames<NewGroupOptions> = { timeoutMs: true };

/**
 * Makes a group of some ranks (torch.distributed.new_group). Every rank of the default group calls it, in the same order and with the same ranks,
 * also those that are not in the new group. Methods of the group, and errors of its operations, count its ranks; the functions that take it as the option
 * `group` are given ranks of the default group.
 *
 * @param ranks of the default group; all unless given. In ascending order they are ranks 0, 1, … of the new group, as in torch.
 * @returns the group, or null on a rank that is not in it (torch: GroupMember.NON_GROUP_MEMBER).
 * @throws InvalidArgumentError for ranks that are none or come twice, and, on every rank, when they differ between ranks; StoreTimeoutError naming
 * the ranks that did not call it; errors of `initProcessGroup` for members that do not meet.
 */
export async function newGroup(
  ranks?: readonly number[],
  options: NewGroupOptions = {},
): Promise<ProcessGroup | null> {
  requireOptions('newGroup', options, newGroupOptions);
  const { session, subgroups } = readyState('A new group');
  return await subgroups.form(ranks, options.timeoutMs ?? session.timeoutMs);
}

/** The group of all ranks that `initProcessGroup` made. Throws RingrunError `ERR_NOT_INITIALIZED` before and after. */
export function defaultGroup(): ProcessGroup {
  return readyState('The default process group').session.group;
}

/** This process among the group's, from 0; −1 where `group` is null, for a rank that is not in it (torch.distributed.get_rank). */
export function getRank(group: ProcessGroup | null = defaultGroup()): number {
  return group?.rank ?? -1;
}

/** Number of processes of the group; −1 where `group` is null (torch.distributed.get_world_size). */
export function getWorldSize(group: ProcessGroup | null = defaultGroup()): number {
  return group?.size ?? -1;
}

/** What runs the group's collectives (torch.distributed.get_backend). */
export function getBackend(group: ProcessGroup | null = defaultGroup()): ProcessGroup['backend'] {
  return groupOf({ group }).backend;
}

/**
 * The group, with what only those of the backend nccl have: tensors on GPUs, and streams.
 *
 * @throws RingrunError `ERR_NOT_ON_GPU` for a group of another backend.
 */
export function getNcclGroup(group: ProcessGroup | null = defaultGroup()): NcclGroup {
  const found = groupOf({ group });
  if (found instanceof NcclGroup) return found;
  throw new RingrunError(
    'ERR_NOT_ON_GPU',
    `The group's backend is ${found.backend}, which has no GPU: initProcessGroup({ backend: 'nccl' }) makes groups that have.`,
  );
}

/** Ranks of the default group that are in the group: element i is the group's rank i (torch.distributed.get_process_group_ranks). */
export function getProcessGroupRanks(group: ProcessGroup | null = defaultGroup()): number[] {
  return [...ranksOf(groupOf({ group }))];
}

/**
 * The rank in `group` of a rank of the default group (torch.distributed.get_group_rank).
 *
 * @throws InvalidArgumentError when it is not in the group.
 */
export function getGroupRank(group: ProcessGroup | null, globalRank: number): number {
  return groupRankAmong(ranksOf(groupOf({ group })), globalRank, 'globalRank');
}

/**
 * The rank in the default group of rank `groupRank` of `group` (torch.distributed.get_global_rank).
 *
 * @throws InvalidArgumentError when the group has no such rank.
 */
export function getGlobalRank(group: ProcessGroup | null, groupRank: number): number {
  return globalRankAmong(ranksOf(groupOf({ group })), groupRank);
}

/** The group of an operation, in which this rank is. Its methods refuse options that are none. */
export function groupOf(options: GroupOption | null): ProcessGroup {
  const group = options?.group;
  if (group === undefined) return defaultGroup();
  if (group !== null) return group;
  throw new RingrunError(
    'ERR_NOT_IN_GROUP',
    `The group is null: this rank, ${getRank()} of ${getWorldSize()}, is not in it, and newGroup said so. ` +
      "Operations of a group are for its members, as in if (group) { … }; which ranks they are was newGroup's first argument.",
  );
}

/** `src` or `dst` of an operation, a rank of the default group, as a method of `group` takes it. */
export function rankInGroup(group: ProcessGroup, name: 'src' | 'dst', globalRank: number): number {
  return groupRankAmong(ranksOf(group), globalRank, name);
}

function ranksOf(group: ProcessGroup): readonly number[] {
  return readyState('The ranks of a group').subgroups.ranksOf(group);
}
