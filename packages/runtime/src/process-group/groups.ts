import { NcclGroup } from '@ringrun/collectives';
import { requireOptions, RingrunError } from '@ringrun/core';
import type { OptionNames, ProcessGroup } from '@ringrun/core';
import { globalRankAmong, groupRankAmong } from './ranks.ts';
import { currentState, readyState } from './state.ts';

/** The group of an operation. */
export interface GroupOption {
  /**
   * Default: the default group. Null, which newGroup returns on ranks outside the group, throws RingrunError
   * `ERR_NOT_IN_GROUP`.
   */
  group?: ProcessGroup | null;
}

/** Options of {@link newGroup}. */
export interface NewGroupOptions {
  /**
   * Timeout in milliseconds of forming the group, and of each of its operations. Default: the default group's timeout.
   */
  timeoutMs?: number;
}

const newGroupOptions: OptionNames<NewGroupOptions> = { timeoutMs: true };

/**
 * Creates a group of some ranks (torch.distributed.new_group). A collective of the default group: every rank of it must
 * call it, including ranks outside the new group, in the same order and with the same ranks. The group's methods and
 * errors use ranks of the group; functions with the option `group` use ranks of the default group.
 *
 * @param ranks Ranks of the default group. Default: all. Sorted, they become ranks 0, 1, … of the new group, as in
 * torch.
 * @returns the group, or null on a rank outside it (torch: GroupMember.NON_GROUP_MEMBER).
 * @throws InvalidArgumentError for invalid or repeated ranks and, on every rank, if ranks were called with different
 * lists; CollectiveMismatchError at once if another rank calls a different collective of the default group;
 * CollectiveTimeoutError with the ranks that did not call it; the errors of `initProcessGroup` if members cannot
 * connect.
 */
export async function newGroup(
  ranks?: readonly number[],
  options: NewGroupOptions = {},
): Promise<ProcessGroup | null> {
  requireOptions('newGroup', options, newGroupOptions);
  const { session, subgroups } = readyState('newGroup');
  return await subgroups.form(ranks, options.timeoutMs ?? session.timeoutMs);
}

/**
 * The group of all ranks. Throws RingrunError `ERR_NOT_INITIALIZED` before `initProcessGroup` and after
 * `destroyProcessGroup`.
 */
export function defaultGroup(): ProcessGroup {
  return readyState('The operation').session.group;
}

/**
 * Rank of this process in the group, from 0. −1 if `group` is null: this rank is not in it
 * (torch.distributed.get_rank).
 */
export function getRank(group: ProcessGroup | null = defaultGroup()): number {
  return group?.rank ?? -1;
}

/** Number of ranks of the group. −1 if `group` is null (torch.distributed.get_world_size). */
export function getWorldSize(group: ProcessGroup | null = defaultGroup()): number {
  return group?.size ?? -1;
}

/**
 * The rank and the number of ranks that share a dataset, by default. A process that joins a running job uses the share
 * of the rank that it replaces, although it is alone when it creates its sampler.
 */
export function shareOfProcess(): { rank: number; worldSize: number } {
  const state = currentState();
  if (state.phase !== 'ready') return { rank: 0, worldSize: 1 };
  const { group, joins, startedAs } = state.session;
  return joins === undefined ? { rank: group.rank, worldSize: group.size } : startedAs;
}

/** Backend of the group (torch.distributed.get_backend). */
export function getBackend(group: ProcessGroup | null = defaultGroup()): ProcessGroup['backend'] {
  return groupOf({ group }).backend;
}

/**
 * The group as an `NcclGroup`, for tensors on GPUs and streams.
 *
 * @throws RingrunError `ERR_NOT_ON_GPU` for a group of another backend.
 */
export function getNcclGroup(group: ProcessGroup | null = defaultGroup()): NcclGroup {
  const found = groupOf({ group });
  if (found instanceof NcclGroup) return found;
  throw new RingrunError(
    'ERR_NOT_ON_GPU',
    `getNcclGroup failed: expected a group of the backend 'nccl', got '${found.backend}'. Call initProcessGroup({ backend: 'nccl' }).`,
  );
}

/**
 * The group's members as ranks of the default group: element i is the group's rank i
 * (torch.distributed.get_process_group_ranks).
 */
export function getProcessGroupRanks(group: ProcessGroup | null = defaultGroup()): number[] {
  return [...ranksOf(groupOf({ group }))];
}

/**
 * The rank in `group` of a rank of the default group (torch.distributed.get_group_rank).
 *
 * @throws InvalidArgumentError if the rank is not in the group.
 */
export function getGroupRank(group: ProcessGroup | null, globalRank: number): number {
  return groupRankAmong(ranksOf(groupOf({ group })), globalRank, 'globalRank');
}

/**
 * The rank in the default group of rank `groupRank` of `group` (torch.distributed.get_global_rank).
 *
 * @throws InvalidArgumentError if `groupRank` is not a rank of the group.
 */
export function getGlobalRank(group: ProcessGroup | null, groupRank: number): number {
  return globalRankAmong(ranksOf(groupOf({ group })), groupRank);
}

/** The group of an operation. The group's methods refuse unknown options. */
export function groupOf(options: GroupOption | null): ProcessGroup {
  const group = options?.group;
  if (group === undefined) return defaultGroup();
  if (group !== null) return group;
  throw new RingrunError(
    'ERR_NOT_IN_GROUP',
    `The group is null: newGroup was called with ranks that do not include this one, rank ${getRank()} of ${getWorldSize()}. ` +
      'Call operations of a group on its members only: if (group) { … }.',
  );
}

/** Converts `src` or `dst` from a rank of the default group to a rank of `group`. */
export function rankInGroup(group: ProcessGroup, name: 'src' | 'dst', globalRank: number): number {
  return groupRankAmong(ranksOf(group), globalRank, name);
}

function ranksOf(group: ProcessGroup): readonly number[] {
  return readyState('The operation').subgroups.ranksOf(group);
}
