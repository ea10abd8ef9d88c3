import type { DistributedParameter, ForwardModule } from './distributed-module.ts';
import type { RankIdentity } from './errors.ts';
import type { ProcessGroup } from './process-group.ts';
import type { Stateful } from './stateful.ts';

/**
 * Options of `DistributedDataParallel`. All except `processGroup` and `onMembershipChange` must be equal on all ranks.
 */
export interface DistributedDataParallelOptions {
  /** The ranks that train together. Default: the default group. */
  processGroup?: ProcessGroup;
  /** Size of a gradient bucket in MiB. Default: 25. The first bucket has at most 1 MiB. */
  bucketCapMb?: number;
  /**
   * Start the all-reduce of a bucket during the rest of the backward pass, which splits the compiled step at
   * the buckets. Default: `true` if the group spans a network, where an all-reduce takes time but little CPU;
   * `false` in shared memory, where it takes less time than the split costs and uses the same CPUs.
   */
  overlap?: boolean;
  /**
   * Broadcast the buffers of rank 0 before every forward in training mode (torch's broadcast_buffers).
   * Default: `true`. If `false`, each rank's running means are those of its own data. Has no effect on a
   * model without buffers.
   */
  broadcastBuffers?: boolean;
  /**
   * Number of steps between two checks that the parameters are identical on all ranks; 0 disables the check.
   * Default: 1,000. If they differ, `backward` rejects with a `ParametersDivergedError` that names the first
   * such parameter and the ranks. The check hashes the parameters with SHA-256: 2.5 ms per million
   * parameters. Buffers are not compared: they may differ until `broadcastBuffers` makes them equal.
   */
  verifyEvery?: number;
  /**
   * Keep one copy of the parameters and of the optimizer states for all ranks of a host, in shared memory. Each rank
   * updates its part of them, which computes the same bits, and `optimizer.step()` becomes a collective: every rank must
   * call it for the same gradients, and await it. Needs an optimizer of `@ringrun/nn` other than LBFGS, and shared memory
   * between the ranks of a host. Not possible with `join` and `faultTolerance: 'shrink'`. Default: `false`.
   *
   * `backward` averages whole gradients on every rank. If all ranks are on one host, a step of `compileStep` averages on each
   * rank only the gradients of its part, so it leaves the parameters' `grad` undefined. It does so with several hosts, too.
   * To read or change averaged gradients, call `backward` and `step`.
   *
   * Wrapping moves the values: read `parameter.data` again instead of keeping the array. A value that one rank writes there
   * is the value of all ranks of its host. `destroyProcessGroup` gives each rank its own copy. If a rank dies during
   * `optimizer.step()`, the parameters are partly updated: continue from a checkpoint.
   */
  shareParameters?: boolean;
  /**
   * `shrink`: when a rank dies, the surviving ranks agree on the new group, repeat the step without the dead rank and
   * continue in the same processes. A replacement process joins before a later step: see `shareState`. Needs the
   * default group of the backend `gloo`. Default: `none`: every rank throws `PeerDiedError`.
   */
  faultTolerance?: 'none' | 'shrink';
  /**
   * For `faultTolerance: 'shrink'`: if fewer ranks survive, they throw `ERR_RECOVERY_FAILED`. Default: 1.
   */
  minRanks?: number;
  /**
   * For `faultTolerance: 'shrink'`: called after ranks have died or joined, before the interrupted step continues. Rank
   * and world size have changed, and groups of `newGroup` are destroyed. It must not throw, or call collectives.
   */
  onMembershipChange?: (change: MembershipChange) => void;
}

/** A change of the ranks that train together. */
export interface MembershipChange {
  /** This process's rank in the new default group. */
  readonly rank: number;
  /** Size of the new default group. */
  readonly worldSize: number;
  /** RANK, as started, of each process of the new group, in the order of its ranks. */
  readonly startRanks: readonly number[];
  /** Processes that died, with their RANK as started. */
  readonly died: readonly RankIdentity[];
  /** Processes that have joined, with their RANK as started. */
  readonly joined: readonly RankIdentity[];
}

/** The bucket of gradients that a hook averages (torch.distributed.GradBucket). */
export interface GradientBucket {
  /** Index of the bucket, from 0, the same on every rank. The first bucket holds the last parameters. */
  readonly index: number;
  /** Whether this is the last bucket of the step. */
  readonly isLast: boolean;
  /**
   * This rank's gradients, concatenated. The hook writes the result here. The same array in every step, unless ranks die
   * or join (`faultTolerance: 'shrink'`).
   */
  readonly data: Float32Array;
  /** The parameters of the bucket, in the order of their gradients. */
  readonly parameters: readonly DistributedParameter[];
  /** The gradient of each parameter: views of `data`. */
  gradients(): readonly Float32Array[];
}

/**
 * Averages the gradients of a bucket (torch: DistributedDataParallel.register_comm_hook). It resolves when
 * `bucket.data` holds the result, which must be bit-identical on every rank. Every rank calls it for one
 * bucket at a time, in order of `index`, so a hook may run several collectives. If it rejects, `backward`
 * rejects.
 */
export interface CommHook {
  (bucket: GradientBucket, group: ProcessGroup): Promise<void>;
  /**
   * Synchronous form, with the `…Sync` collectives, for libraries that cannot await promises. All `commHooks`
   * have it.
   */
  sync?(bucket: GradientBucket, group: ProcessGroup): void;
  /**
   * The state between steps that is equal on all ranks, such as a number of steps. Default: none.
   *
   * With `faultTolerance: 'shrink'`, a step that a rank's death interrupts is repeated: the hook is called again for every
   * bucket, with the gradients that it was first called with, and with another group. Before that, `state` and `rankState`
   * receive a copy of what their `stateDict` returned before the step, so `stateDict` must not return a promise. A hook
   * without states is just called again. A process that joins receives the `state` of a living rank.
   *
   * Checkpoints contain the states only if the program registers them: `state` as any object, and `rankState` with
   * `perRank`.
   */
  readonly state?: Stateful;
  /**
   * The state between steps that each rank has for itself, such as error feedback. Default: none. The state of a dead rank
   * is lost, and a process that joins begins with its own initial one.
   */
  readonly rankState?: Stateful;
}

/** The class `DistributedDataParallel`, as used by libraries that wrap models themselves. */
export type DistributedDataParallelClass = new (
  module: ForwardModule,
  options?: DistributedDataParallelOptions,
) => {
  /** Names of the parameters on which no rank's loss depended in the last step. */
  readonly unusedParameters: readonly string[];
  /** Replaces the average of each bucket by a hook, before the first backward pass. */
  registerCommHook(hook: CommHook): void;
  /** Broadcasts the buffers of rank 0. A collective that blocks the calling thread. */
  syncBuffers(): void;
};
