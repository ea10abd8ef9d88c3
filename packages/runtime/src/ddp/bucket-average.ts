import { prepareAllReduce } from '@ringrun/collectives';
import { ReduceOp, registry } from '@ringrun/core';
import type { DeviceAverage, GpuGroup, ProcessGroup, StartableOperation } from '@ringrun/core';
import { allEnded } from './all-ended.ts';
import { applyWeight, divideByWeight, type Bucket } from './bucket.ts';
import type { GradientSlots } from './gradient-slots.ts';
import { HookStates } from './hooks/hook-states.ts';
import type { CommHook, GradientBucket } from './hooks/index.ts';
import type { AverageRecovery } from './reducer-settings.ts';
import { averageTails, averageTailsSync } from './tails.ts';

/** The operations of an average, which a library starts in this order without JavaScript. */
export interface StartableAverage {
  /** The all-reduce of each bucket. */
  readonly buckets: readonly StartableOperation[];
  /** Ends the average; undefined without recovery. */
  readonly commit: StartableOperation | undefined;
}

/**
 * Averages the buckets over the ranks, by one all-reduce each or by a communication hook. All ranks start the same
 * operations in the same order, that of the buckets.
 */
export class BucketAverage {
  /** Weight of this rank's gradients. */
  weight = 1;
  /** Replaced after a recovery. */
  group: ProcessGroup;
  readonly #slots: GradientSlots;
  readonly #recovery: AverageRecovery | undefined;
  #hook: CommHook | undefined;
  #hookStates: HookStates | undefined;
  /** One promise for each bucket whose average has been started. */
  #started: Promise<void>[] = [];
  /** The average of the tails before a hook's. */
  #tails: Promise<void> | undefined;

  constructor(group: ProcessGroup, slots: GradientSlots, recovery: AverageRecovery | undefined) {
    this.group = group;
    this.#slots = slots;
    this.#recovery = recovery;
  }

  /** Averages the gradients of a bucket instead of an all-reduce. */
  get hook(): CommHook | undefined {
    return this.#hook;
  }

  registerHook(hook: CommHook): void {
    if (this.#recovery !== undefined) this.#hookStates = new HookStates(hook);
    this.#hook = hook;
  }

  /** The states of the hook. Undefined without a hook and without recovery. */
  get hookStates(): HookStates | undefined {
    return this.#hookStates;
  }

  /** Starts the averages of the buckets before `end` that have not been started. */
  start(end: number): void {
    if (this.#started.length === 0) this.#begin();
    for (const bucket of this.#buckets.slice(this.#started.length, end)) {
      applyWeight(bucket, this.weight);
      bucket.local?.set(bucket.data);
      this.#started.push(observed(this.#reduce(bucket)));
    }
  }

  /** Starts the buckets that have not been started. Resolves when all are averaged. */
  async run(): Promise<void> {
    this.start(this.#buckets.length);
    await allEnded([this.#tails, ...this.#started]);
  }

  /**
   * Returns a function that does the same as `run`, or awaits `started`, and can be called repeatedly: each further
   * call restarts from this rank's own gradients.
   */
  repeatable(started: StartableAverage | undefined): () => Promise<void> {
    let calls = 0;
    return async () => {
      calls += 1;
      if (calls === 1 && started !== undefined) {
        await endOf(started);
        return;
      }
      if (calls > 1) {
        this.#restoreLocalGradients();
        await this.#hookStates?.undoStep();
      }
      this.start(this.#buckets.length);
      await allEnded(this.#started);
      // A hook may resolve although its operations have failed or not ended. The tails' succeeds only after theirs.
      if (this.hook !== undefined) await averageTails(this.group, this.#buckets);
    };
  }

  runSync(): void {
    const { hook } = this;
    this.#setWeights();
    if (hook !== undefined) averageTailsSync(this.group, this.#buckets);
    for (const bucket of this.#buckets) {
      applyWeight(bucket, this.weight);
      if (hook === undefined) this.group.allReduceSync(bucket.data, { op: ReduceOp.AVG });
      else hook.sync?.(this.#forHook(bucket), this.group);
    }
  }

  /** Averages gradients of 0. Resolves with false, without the other buckets, if the weight of the first is 0 on all ranks. */
  async follow(): Promise<boolean> {
    for (const { data } of this.#buckets) data.fill(0);
    const { hook, group } = this;
    const [first, ...rest] = this.#buckets;
    await (hook === undefined ? this.#reduce(first) : averageTails(group, this.#buckets));
    if (first.weight[0] === 0) return false;
    for (const bucket of hook === undefined ? rest : this.#buckets)
      this.#started.push(observed(this.#reduce(bucket)));
    await Promise.all(this.#started);
    return true;
  }

  /** The average as operations that start without JavaScript; undefined if the average also needs JavaScript. */
  prepare(): StartableAverage | undefined {
    // An observer replaces the methods of the group, to record their calls.
    if (this.hook !== undefined || this.weight !== 1 || registry.activityObserver !== undefined)
      return undefined;
    const commit = this.#recovery?.prepareCommit();
    if (this.#recovery !== undefined && commit === undefined) return undefined;
    const buckets = this.#buckets.map(({ data, local }) =>
      prepareAllReduce(this.group, data, ReduceOp.AVG, local),
    );
    if (buckets.includes(undefined)) return undefined;
    this.#setWeights();
    return { buckets: buckets as StartableOperation[], commit };
  }

  /** The average on a GPU; undefined if it needs the gradients on the host. */
  onDevice(): Pick<DeviceAverage, 'group' | 'buckets'> | undefined {
    if (this.hook !== undefined || this.#recovery !== undefined || this.weight !== 1) return undefined;
    const group = this.group.size === 1 ? undefined : gpuGroup(this.group);
    if (group === undefined && this.group.size > 1) return undefined;
    this.#setWeights();
    return { group, buckets: this.#buckets };
  }

  /** Turns the averages over ranks into weighted averages. */
  divideByWeights(): void {
    for (const bucket of this.#buckets) divideByWeight(bucket);
  }

  /** Before the next average. */
  reset(): void {
    this.#started = [];
    this.#tails = undefined;
  }

  get #buckets(): readonly Bucket[] {
    return this.#slots.buckets;
  }

  #restoreLocalGradients(): void {
    for (const { data, local } of this.#buckets) data.set(local!);
    this.reset();
  }

  #begin(): void {
    this.#hookStates?.beginStep();
    this.#setWeights();
    // With recovery, the tails end the average.
    if (this.hook !== undefined && this.#recovery === undefined)
      this.#tails = observed(averageTails(this.group, this.#buckets));
  }

  #setWeights(): void {
    for (const { weight } of this.#buckets) weight[0] = this.weight;
  }

  /**
   * A hook may run several collectives, so buckets are reduced one after the other: the order must be the
   * same on all ranks.
   */
  #reduce(bucket: Bucket): Promise<void> {
    const { hook } = this;
    if (hook === undefined) return this.group.allReduce(bucket.data, { op: ReduceOp.AVG });
    return (this.#started.at(-1) ?? Promise.resolve()).then(() => hook(this.#forHook(bucket), this.group));
  }

  #forHook({ index, gradients, parameters, gradientViews }: Bucket): GradientBucket {
    const isLast = index === this.#buckets.length - 1;
    return { index, isLast, data: gradients, parameters, gradients: () => gradientViews };
  }
}

/** A promise that may reject long before the pass awaits it. */
function observed(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

function gpuGroup(group: ProcessGroup & Partial<Pick<GpuGroup, 'runProgram'>>): GpuGroup | undefined {
  return group.runProgram === undefined ? undefined : (group as GpuGroup);
}

/**
 * Resolves when the all-reduces of an average, which the library started, have ended; undefined if they have already
 * succeeded. Rejects with the first failure.
 */
export function endOf({ buckets, commit }: StartableAverage): Promise<void> | undefined {
  // No operation of a group succeeds after one that has failed, and awaiting only the last wakes the event loop once.
  return (commit ?? buckets.at(-1)!).ended()?.catch(async () => {
    for (const operation of buckets) await operation.ended();
  });
}
