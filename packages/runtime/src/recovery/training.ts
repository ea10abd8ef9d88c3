import type { MembershipChange, ProcessGroup, StartableOperation } from '@ringrun/core';
import type { States } from './state-transfer.ts';

/** The part of a training that a new group and new processes need. */
export interface Replica {
  /** Copies the data in the memory of the group, which is destroyed next. */
  leaveGroup(): void;
  /** Allocates memory of the new group. A collective. */
  enterGroup(group: ProcessGroup): void;
  /** The state of the training between two steps. */
  saveState(): Promise<States>;
  loadState(states: ReadonlyMap<string, unknown>): Promise<void>;
}

/** Collectives that all ranks complete, or none. */
export interface Transaction<Result> {
  /** Whether it is a step of training: new processes join before it. */
  readonly isStep: boolean;
  /** Whether `attempt` issues all its collectives before it returns its promise. */
  readonly issuesAtOnce: boolean;
  /**
   * The commit (`Recovery.prepareCommit`), if it was started after the collectives of the first attempt, which awaits them.
   * Default: undefined, `attempt` issues its collectives, and the commit follows them.
   */
  readonly startedCommit?: StartableOperation | undefined;
  /** Runs the collectives in the group. Called again, with a new group, after a rank has died. */
  attempt(group: ProcessGroup): Promise<Result>;
}

export interface RecoveryOptions {
  minRanks: number;
  onMembershipChange: ((change: MembershipChange) => void) | undefined;
}
