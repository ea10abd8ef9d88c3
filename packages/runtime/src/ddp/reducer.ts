import { prepareAllReduce } from '@ringrun/collectives';
import { isSameList, ReduceOp, registry, RingrunError } from '@ringrun/core';
import type {
  DistributedParameter,
  GradientPass,
  ProcessGroup,
  StartableOperation,
  SynchronousGradientSink,
} from '@ringrun/core';
import { allocateBucket, applyWeight, divideByWeight, type Bucket } from './bucket.ts';
import { assignBuckets } from './buckets.ts';
import { ddpEvents } from './events.ts';
import type { CommHook, GradientBucket } from './hooks/index.ts';
import type { GradientsOfRanks } from './gradients-of-ranks.ts';
import { SharedParameters } from './shared-parameters.ts';
import { unaveragedPass } from './unaveraged-pass.ts';
import { inStep } from './uneven-inputs.ts';

/** The position of a parameter's gradient. */
interface BucketSlot {
  readonly bucket: Bucket;
  /** Index of the parameter in the bucket. */
  readonly position: number;
}

export interface ReducerSettings {
  /** Bytes of the first bucket. */
  firstCap: number;
  /** Bytes of every other bucket. */
  cap: number;
  /** Average the first buckets during the rest of the backward pass. Default: `false`. */
  overlaps?: boolean;
  /** Gradients are averaged by `averageSync`. Default: `false`. */
  synchronous?: boolean;
  /**
   * Called when a step's gradients are averaged. The backward pass ends after it has resolved; a
   * `synchronous` pass does not await it.
   */
  afterAverage?: (step: AveragedStep) => void | Promise<void>;
  /** Whether `afterAverage` reads the parameters in a step: the optimizer must not change them before. Default: never. */
  readsParameters?: (step: number) => boolean;
  /** Repeats the average in another group if a rank dies. Default: undefined, the average fails then. */
  recovery?: AverageRecovery;
}

/** Repeats an average until it has succeeded. */
export interface AverageRecovery {
  /** Whether buckets may be averaged during the rest of the backward pass: the group stays the same until `run`. */
  mayStartEarly(): boolean;
  /**
   * The operation that ends an average, to be started after the all-reduces of the buckets without JavaScript. Undefined if
   * `run` must start it.
   */
  prepareCommit(): StartableOperation | undefined;
  /**
   * @param average starts the all-reduces before it returns its promise. May be called again after it has rejected and
   * `Reducer.enterGroup` has been called.
   * @param startedCommit the operation of `prepareCommit` if it was started, after the all-reduces, which the first call of
   * `average` awaits. Default: undefined, nothing was started without JavaScript.
   */
  run(average: () => Promise<void>, startedCommit?: StartableOperation): Promise<void>;
}

export interface AveragedStep {
  /** From 1; the same on every rank. */
  step: number;
  /** Parameters on which no rank's loss depends. */
  unused: ReadonlySet<DistributedParameter>;
}

/** What follows from the parameters of a pass. */
interface PassPlan {
  readonly parameters: readonly DistributedParameter[];
  readonly slots: readonly BucketSlot[];
  /** All others. */
  readonly absent: readonly DistributedParameter[];
  /** The values of `bucketIndexOf`, in increasing order. */
  readonly indices: readonly number[];
}

/** The operations of an average, which a library starts in this order without JavaScript. */
interface StartableAverage {
  /** The all-reduce of each bucket. */
  readonly buckets: readonly StartableOperation[];
  /** Ends the average; undefined without recovery. */
  readonly commit: StartableOperation | undefined;
}

/** Computes the weights of the ranks' gradients in an average. */
export interface Weigher {
  /** Divide by the sum of the weights instead of by the number of ranks. */
  readonly divides: boolean;
  /** Returns the weight of this rank in the step that starts. In the first step of a join it is a collective. */
  weigh(): number;
  /** Called instead of `weigh` by a rank that has run out of batches. Returns false if no rank has any left. */
  anyRankTrains(): boolean;
}

/** Reducers of a group are created in one order on all ranks, because that is a collective. */
let created = 0;

/**
 * Averages gradients over the ranks as they become ready (torch's c10d::Reducer). Buckets are in the group's
 * shared memory, so gradients are reduced in place, without a copy.
 *
 * All ranks start the same all-reduces in the same order, that of the buckets.
 */
export class Reducer implements SynchronousGradientSink {
  #group: ProcessGroup;
  readonly #parameters: readonly DistributedParameter[];
  readonly #overlaps: boolean;
  readonly #synchronous: boolean;
  #buckets: readonly Bucket[];
  readonly #slots = new Map<DistributedParameter, BucketSlot>();
  /** Of the last pass. */
  #plan: PassPlan | undefined;
  readonly #recovery: AverageRecovery | undefined;
  /** The contents of each bucket between two groups. */
  #held: readonly { data: Float32Array; local: Float32Array }[] | undefined;
  #sharing: SharedParameters | undefined;
  /** See `GradientSink`. */
  readonly order = (created += 1);
  #version = 0;
  #started: Promise<void>[] = [];
  /** Whether a backward pass has begun and not ended. */
  #isInPass = false;
  #averaging = false;
  #steps = 0;
  #weigher: Weigher | undefined;
  #weight = 1;
  #commHook: CommHook | undefined;
  readonly #afterAverage: ReducerSettings['afterAverage'];
  readonly #readsParameters: ReducerSettings['readsParameters'];
  /** Number of `accumulating` calls in progress. */
  #accumulators = 0;

  /** @param parameters in order of definition; backward passes reach them in roughly the reverse order */
  constructor(
    group: ProcessGroup,
    parameters: readonly DistributedParameter[],
    {
      firstCap,
      cap,
      overlaps = false,
      synchronous = false,
      afterAverage,
      readsParameters,
      recovery,
    }: ReducerSettings,
  ) {
    this.#group = group;
    this.#parameters = parameters;
    this.#overlaps = overlaps;
    this.#synchronous = synchronous;
    this.#afterAverage = afterAverage;
    this.#readsParameters = readsParameters;
    this.#recovery = recovery;
    const order = parameters.toReversed();
    const bytes = order.map(({ data }) => data.byteLength);
    this.#buckets = assignBuckets(bytes, firstCap, cap).map((positions, index) =>
      allocateBucket(
        group,
        index,
        positions.map((position) => order[position]),
        recovery !== undefined,
      ),
    );
    this.#fillSlots();
  }

  /** Changes when `arrayOf` returns other arrays than before, and when the parameters leave shared memory. */
  get version(): number {
    return this.#version;
  }

  get mayRepeat(): boolean {
    return this.#recovery !== undefined;
  }

  get sharing(): SharedParameters | undefined {
    return this.#sharing;
  }

  /** Moves the parameters into memory that the ranks of a host share, until the group is destroyed. A collective. */
  shareParameters(): void {
    this.#sharing = new SharedParameters(this.#group, this.#parameters, this.#buckets, () => {
      this.#sharing = undefined;
      this.#version += 1;
    });
  }

  /** Copies the gradients out of the memory of the group, which is destroyed next. */
  leaveGroup(): void {
    this.#held ??= this.#buckets.map(({ data, local }) => ({ data: data.slice(), local: local!.slice() }));
  }

  /** Moves the gradients into the memory of another group. A collective of that group. */
  enterGroup(group: ProcessGroup): void {
    const held = this.#held!;
    const buckets = this.#buckets.map(({ index, parameters }) =>
      allocateBucket(group, index, parameters, true),
    );
    for (const { index, data, local } of buckets) {
      data.set(held[index].data);
      local!.set(held[index].local);
    }
    this.#group = group;
    this.#buckets = buckets;
    this.#held = undefined;
    this.#version += 1;
    this.#fillSlots();
  }

  arrayOf(parameter: DistributedParameter): Float32Array {
    const { bucket, position } = this.#slotOf(parameter);
    return bucket.gradientViews[position];
  }

  /** Without overlap, 0 for all parameters: nothing is averaged before all gradients have been written. */
  bucketIndexOf(parameter: DistributedParameter): number {
    return this.#overlaps ? this.#slotOf(parameter).bucket.index : 0;
  }

  beginPass(
    parameters: readonly DistributedParameter[],
    updated?: ReadonlySet<DistributedParameter>,
  ): GradientPass {
    if (this.#averaging || this.#isInPass) {
      throw new RingrunError(
        'ERR_BACKWARD_UNDER_WAY',
        'loss.backward(): a backward pass started while the gradients of the previous one were being averaged. Await loss.backward() before the next pass.',
      );
    }
    const accumulates = this.isAccumulating;
    if (!accumulates) this.#weight = this.#weigher?.weigh() ?? 1;
    this.#isInPass = true;
    const gradientsOfRanks = this.#mayLeaveAverage(updated) ? this.#sharing?.gradients : undefined;
    // Other ranks may have read those of the last pass until its update ended.
    if (gradientsOfRanks) for (const { uses } of this.#buckets) uses.fill(0);
    const plan = this.#planOf(parameters);
    const newlyUsed = this.#markUsed(plan);
    const abandon: GradientPass['abandon'] = (error, passes) => {
      for (const { bucket, position } of newlyUsed) bucket.uses[position] = 0;
      this.#endPass();
      return inStep(this.#steps + 1, error, { passes });
    };
    if (accumulates) return this.#accumulatingPass(abandon);
    this.#contributeAbsent(plan);
    return gradientsOfRanks
      ? this.#unaveragedPass(plan, gradientsOfRanks, abandon)
      : this.#averagingPass(plan, abandon);
  }

  #planOf(parameters: readonly DistributedParameter[]): PassPlan {
    if (this.#plan !== undefined && isSameList(this.#plan.parameters, parameters)) return this.#plan;
    const present = new Set(parameters);
    return (this.#plan = {
      parameters,
      slots: parameters.map((parameter) => this.#slotOf(parameter)),
      absent: this.#parameters.filter((parameter) => !present.has(parameter)),
      indices: [...new Set(parameters.map((parameter) => this.bucketIndexOf(parameter)))].sort(
        (a, b) => a - b,
      ),
    });
  }

  /** Whether an update of these parameters may average the gradients. Equal on all ranks. */
  #mayLeaveAverage(updated: ReadonlySet<DistributedParameter> | undefined): boolean {
    if (updated === undefined || this.isAccumulating || this.#commHook !== undefined) return false;
    return this.#parameters.every((parameter) => updated.has(parameter));
  }

  /** Number of steps whose gradients have been averaged; the same on every rank. */
  get steps(): number {
    return this.#steps;
  }

  /** Set by a process that joins a running job. */
  set steps(steps: number) {
    this.#steps = steps;
  }

  /** Sets the weights of the ranks. Default: undefined, all ranks have equal weight. */
  set weigher(weigher: Weigher | undefined) {
    this.#weigher = weigher;
  }

  /**
   * Takes part in a step of the ranks that still train, without gradients of its own. Its parameters receive
   * the step's averaged gradients. Resolves with false if no rank trains any more: then the weight of the
   * first bucket is 0 on all ranks, and the other buckets are skipped.
   */
  async followStep(): Promise<boolean> {
    if (this.#weigher?.anyRankTrains() === false) return false;
    this.#isInPass = true;
    for (const { data } of this.#buckets) data.fill(0);
    try {
      const trains = await this.#whileAveraging(() => this.#followBuckets());
      if (trains) await this.#endStep(this.#parameters);
      return trains;
    } finally {
      this.#endPass();
    }
  }

  /** @throws RingrunError `ERR_COMM_HOOK` if a hook is registered already or a backward pass is in progress */
  registerCommHook(hook: CommHook): void {
    if (this.#synchronous && hook.sync === undefined) {
      throw new RingrunError(
        'ERR_COMM_HOOK',
        "registerCommHook: expected a hook with a `sync` method, because this model's library cannot await promises. All of ringrun's commHooks have it.",
      );
    }
    if (this.#commHook !== undefined || this.#isInPass) {
      const obstacle = this.#commHook === undefined ? 'during a backward pass' : 'a second time';
      throw new RingrunError(
        'ERR_COMM_HOOK',
        `registerCommHook: called ${obstacle}. Call it once, after wrapping the model and before training.`,
      );
    }
    this.#commHook = hook;
  }

  averageSync(parameters: readonly DistributedParameter[]): void {
    const accumulates = this.isAccumulating;
    if (!accumulates) this.#weight = this.#weigher?.weigh() ?? 1;
    const plan = this.#planOf(parameters);
    this.#markUsed(plan);
    if (accumulates) return;
    this.#contributeAbsent(plan);
    const since = performance.now();
    this.#withStepInErrors(() => {
      for (const bucket of this.#buckets) {
        applyWeight(bucket, this.#weight);
        this.#reduceSync(bucket);
      }
    });
    this.#emitWait(since);
    const unused = this.#concludeStep(plan.absent);
    this.#withStepInErrors(() => void this.#afterAverage?.({ step: this.#steps + 1, unused }));
    this.#steps += 1;
  }

  /** Backward passes that start during `run` accumulate their gradients without averaging. */
  async accumulating<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#accumulators += 1;
    try {
      return await run();
    } finally {
      this.#accumulators -= 1;
    }
  }

  /** Whether a backward pass that starts now would only accumulate its gradients. */
  get isAccumulating(): boolean {
    return this.#accumulators > 0;
  }

  async #followBuckets(): Promise<boolean> {
    const hook = this.#commHook;
    const [first, ...rest] = this.#buckets;
    await this.#group.allReduce(hook === undefined ? first.data : first.tail, { op: ReduceOp.AVG });
    if (first.weight[0] === 0) return false;
    if (hook !== undefined) await this.#call(hook, first);
    this.#started = [Promise.resolve()];
    for (const bucket of rest) this.#started.push(this.#reduce(bucket));
    await Promise.all(this.#started);
    return true;
  }

  /** Returns the places that were not marked before. */
  #markUsed({ slots }: PassPlan): readonly BucketSlot[] {
    const newly: BucketSlot[] = [];
    for (const slot of slots) {
      if (slot.bucket.uses[slot.position] !== 0) continue;
      slot.bucket.uses[slot.position] = 1;
      newly.push(slot);
    }
    return newly;
  }

  #accumulatingPass(abandon: GradientPass['abandon']): GradientPass {
    return {
      bucketReady: () => undefined,
      startableAt: () => undefined,
      done: () => {
        this.#endPass();
        return undefined;
      },
      abandon,
    };
  }

  #averagingPass({ absent, indices }: PassPlan, abandon: GradientPass['abandon']): GradientPass {
    const last = indices.at(-1) ?? 0;
    /** The number of buckets that are ready: nothing is missing in those after the last one that the pass writes. */
    const readyAt = (index: number) => (index >= last ? this.#buckets.length : index + 1);
    const startable = this.#startableAverage();
    return {
      bucketReady: (index) => {
        if (this.#recovery?.mayStartEarly() !== false) this.#startBuckets(readyAt(index));
      },
      startableAt: (index) => {
        const before = indices.findLast((other) => other < index) ?? -1;
        const { buckets, commit } = startable ?? {};
        const ready = buckets?.slice(before + 1, readyAt(index));
        return commit !== undefined && index >= last ? ready?.concat(commit) : ready;
      },
      mostPasses: (limit) => (startable === undefined ? 1 : this.#mostPasses(absent, limit)),
      done: ({ isStarted = false, waitedMs = 0, passes = 1 } = {}) => {
        const started = isStarted ? startable : undefined;
        const end = started && this.#recovery === undefined ? endOf(started) : undefined;
        const since = performance.now() - waitedMs;
        return started === undefined || this.#recovery !== undefined || end !== undefined
          ? this.#endAverage(started, end, since, absent)
          : this.#endAverageNow(since, absent, passes);
      },
      abandon,
    };
  }

  /** See `GradientPass.mostPasses`. Other ranks may run fewer, since their collectives have the same order. */
  #mostPasses(absent: readonly DistributedParameter[], limit: number): number {
    // A gradient that the pass does not write must be contributed again, and a weight computed.
    if (absent.length > 0 || this.#recovery !== undefined || this.#weigher !== undefined) return 1;
    // `uses` stays as the last average has left it. Where only one rank marks a use again and again, it falls by a factor of
    // the group's size with each pass, and must stay a normal number above 0.
    const most = Math.min(limit, Math.floor(126 / Math.max(1, Math.log2(this.#group.size))));
    let passes = 1;
    while (passes < most && this.#readsParameters?.(this.#steps + passes + 1) !== true) passes += 1;
    return passes;
  }

  #unaveragedPass(
    { absent, indices }: PassPlan,
    gradients: GradientsOfRanks,
    abandon: GradientPass['abandon'],
  ): GradientPass {
    return unaveragedPass({
      sharing: this.#sharing!,
      last: indices.at(-1) ?? 0,
      needsJavaScript: this.#readsParameters?.(this.#steps + 1) === true,
      end: async (wait, waitedMs) => {
        const since = performance.now() - waitedMs;
        try {
          await this.#whileAveraging(wait);
          this.#emitWait(since);
          await this.#endStep(absent, { ofRanks: gradients });
        } finally {
          this.#endPass();
        }
      },
      abandon,
    });
  }

  /** The average, if its operations are all that it needs. */
  #startableAverage(): StartableAverage | undefined {
    const needsJavaScript =
      this.#commHook !== undefined || this.#weight !== 1 || this.#readsParameters?.(this.#steps + 1) === true;
    // An observer replaces the methods of the group, to record their calls.
    if (needsJavaScript || registry.activityObserver !== undefined) return undefined;
    const commit = this.#recovery?.prepareCommit();
    if (this.#recovery !== undefined && commit === undefined) return undefined;
    const buckets = this.#buckets.map(({ data, local }) =>
      prepareAllReduce(this.#group, data, ReduceOp.AVG, local),
    );
    if (buckets.includes(undefined)) return undefined;
    for (const bucket of this.#buckets) applyWeight(bucket, 1);
    return { buckets: buckets as StartableOperation[], commit };
  }

  /**
   * @param started what the library has started; undefined if averaging has needed JavaScript
   * @param end of `started`, if only that is needed. Default: undefined.
   */
  async #endAverage(
    started: StartableAverage | undefined,
    end: Promise<void> | undefined,
    since: number,
    absent: readonly DistributedParameter[],
  ): Promise<void> {
    try {
      await this.#whileAveraging(async () => {
        if (this.#recovery !== undefined) {
          await this.#recovery.run(this.#averageRepeatably(started), started?.commit);
        } else if (end !== undefined) await end;
        else {
          this.#startBuckets(this.#buckets.length);
          await Promise.all(this.#started);
        }
      });
      this.#emitWait(since);
      await this.#endStep(absent);
    } finally {
      this.#endPass();
    }
  }

  /** Of operations that have succeeded. Undefined if nothing runs after the average. */
  #endAverageNow(
    since: number,
    absent: readonly DistributedParameter[],
    passes: number,
  ): Promise<void> | undefined {
    let ending: Promise<void> | undefined;
    try {
      this.#emitWait(since);
      ending = this.#endStep(absent, { passes });
    } finally {
      if (ending === undefined) this.#endPass();
    }
    return ending?.finally(() => {
      this.#endPass();
    });
  }

  #emitWait(since: number): void {
    ddpEvents.emit('waited', 'gradients', since, performance.now(), this.#steps + 1);
  }

  /** Every call after the first starts again from this rank's own gradients. */
  #averageRepeatably(started: StartableAverage | undefined): () => Promise<void> {
    let calls = 0;
    return async () => {
      calls += 1;
      if (calls === 1 && started !== undefined) {
        await endOf(started);
        return;
      }
      if (calls > 1) this.#restoreLocalGradients();
      this.#startBuckets(this.#buckets.length);
      const ends = await Promise.allSettled(this.#started);
      const failed = ends.find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    };
  }

  #restoreLocalGradients(): void {
    for (const { data, local } of this.#buckets) data.set(local!);
    this.#started = [];
  }

  /** Fills in the contribution for parameters of which this rank has no gradient. */
  #contributeAbsent({ absent }: PassPlan): void {
    for (const parameter of absent) this.#contributeExistingGradient(parameter);
  }

  /**
   * @param absent parameters for which this rank had no gradient; those used by other ranks receive one
   * @param options `ofRanks`: the gradients, if they have not been averaged. `passes`: how many steps end. Default: 1.
   * @returns undefined if nothing runs after the average
   */
  #endStep(
    absent: readonly DistributedParameter[],
    { ofRanks, passes = 1 }: { ofRanks?: GradientsOfRanks; passes?: number } = {},
  ): Promise<void> | undefined {
    const last = this.#steps + passes;
    const unused = this.#concludeStep(absent, ofRanks);
    // Nothing runs after the average of a step that others follow: see `mostPasses`.
    for (; this.#steps + 1 < last; this.#steps += 1)
      void this.#afterAverage?.({ step: this.#steps + 1, unused });
    const after = this.#afterAverage?.({ step: last, unused });
    if (after) {
      return this.#whileAveraging(() => after).then(() => {
        this.#steps += 1;
      });
    }
    this.#steps += 1;
    return undefined;
  }

  /** Returns the parameters on which no rank's loss depends. */
  #concludeStep(absent: readonly DistributedParameter[], ofRanks?: GradientsOfRanks): AveragedStep['unused'] {
    const isUsed = (parameter: DistributedParameter) =>
      ofRanks ? ofRanks.isUsedByAnyRank(parameter) : this.#isUsedByAnyRank(parameter);
    if (this.#weigher?.divides) for (const bucket of this.#buckets) divideByWeight(bucket);
    for (const parameter of absent) if (isUsed(parameter)) parameter.gradientWritten();
    let unused: Set<DistributedParameter> | undefined;
    for (const parameter of this.#parameters) {
      if (!isUsed(parameter)) (unused ??= new Set()).add(parameter);
    }
    // Other ranks may still read them otherwise.
    if (ofRanks === undefined) for (const { uses } of this.#buckets) uses.fill(0);
    return unused ?? none;
  }

  /**
   * This rank's loss does not depend on the parameter, but another rank's may. A gradient of earlier passes
   * is left as it is: if it was averaged, it is the same on all ranks, and so is its average; if it was only
   * accumulated here, `uses` is set already.
   */
  #contributeExistingGradient(parameter: DistributedParameter): void {
    const { bucket, position } = this.#slotOf(parameter);
    if (parameter.grad === undefined) {
      bucket.gradientViews[position].fill(0);
      bucket.uses[position] = 0;
    }
  }

  async #whileAveraging<Result>(average: () => Result): Promise<Awaited<Result>> {
    this.#averaging = true;
    try {
      return await average();
    } catch (error) {
      throw inStep(this.#steps + 1, error);
    } finally {
      this.#averaging = false;
    }
  }

  #withStepInErrors(average: () => void): void {
    try {
      average();
    } catch (error) {
      throw inStep(this.#steps + 1, error, { remedy: 'synchronous' });
    }
  }

  #isUsedByAnyRank(parameter: DistributedParameter): boolean {
    const { bucket, position } = this.#slotOf(parameter);
    return bucket.uses[position] > 0;
  }

  #endPass(): void {
    this.#started = [];
    this.#isInPass = false;
  }

  /** Starts the all-reduces of the buckets before `end` that have not been started. */
  #startBuckets(end: number): void {
    for (const bucket of this.#buckets.slice(this.#started.length, end)) {
      applyWeight(bucket, this.#weight);
      bucket.local?.set(bucket.data);
      const reduced = this.#reduce(bucket);
      // It may fail long before the pass awaits it.
      reduced.catch(() => undefined);
      this.#started.push(reduced);
    }
  }

  /**
   * A hook may run several collectives, so buckets are reduced one after the other: the order must be the
   * same on all ranks.
   */
  #reduce(bucket: Bucket): Promise<void> {
    const hook = this.#commHook;
    if (hook === undefined) return this.#group.allReduce(bucket.data, { op: ReduceOp.AVG });
    return (this.#started.at(-1) ?? Promise.resolve()).then(() => this.#reduceBy(hook, bucket));
  }

  async #reduceBy(hook: CommHook, bucket: Bucket): Promise<void> {
    await Promise.all([this.#group.allReduce(bucket.tail, { op: ReduceOp.AVG }), this.#call(hook, bucket)]);
  }

  #reduceSync(bucket: Bucket): void {
    const hook = this.#commHook;
    this.#group.allReduceSync(hook === undefined ? bucket.data : bucket.tail, { op: ReduceOp.AVG });
    hook?.sync?.(this.#forHook(bucket), this.#group);
  }

  #call(hook: CommHook, bucket: Bucket): Promise<void> {
    return hook(this.#forHook(bucket), this.#group);
  }

  #forHook({ index, gradients, parameters, gradientViews }: Bucket): GradientBucket {
    const isLast = index === this.#buckets.length - 1;
    return { index, isLast, data: gradients, parameters, gradients: () => gradientViews };
  }

  #fillSlots(): void {
    this.#plan = undefined;
    for (const bucket of this.#buckets) {
      for (const [position, parameter] of bucket.parameters.entries()) {
        this.#slots.set(parameter, { bucket, position });
      }
    }
  }

  #slotOf(parameter: DistributedParameter): BucketSlot {
    const slot = this.#slots.get(parameter);
    if (slot === undefined) {
      throw new RingrunError(
        'ERR_NOT_WRAPPED',
        'DistributedDataParallel: got a gradient of a parameter that was frozen or not in the model when it was wrapped. Wrap the model again after unfreezing or adding parameters.',
      );
    }
    return slot;
  }
}

/**
 * Resolves when the all-reduces of an average have ended, which the library has started; undefined if they have succeeded.
 * Rejects with the failure of the first that failed.
 */
function endOf({ buckets, commit }: StartableAverage): Promise<void> | undefined {
  // No operation of a group succeeds after one that has failed, and awaiting only the last wakes the event loop once.
  return (commit ?? buckets.at(-1)!).ended()?.catch(async () => {
    for (const operation of buckets) await operation.ended();
  });
}

const none: ReadonlySet<DistributedParameter> = new Set();
