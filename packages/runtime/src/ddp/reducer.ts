import { RingrunError } from '@ringrun/core';
import type {
  DistributedParameter,
  GradientPass,
  ProcessGroup,
  SynchronousGradientSink,
} from '@ringrun/core';
import { averagingPass } from './averaging-pass.ts';
import { BucketAverage } from './bucket-average.ts';
import { ddpEvents } from './events.ts';
import { GradientSlots, type PassPlan } from './gradient-slots.ts';
import type { GradientsOfRanks } from './gradients-of-ranks.ts';
import type { HookStates } from './hooks/hook-states.ts';
import type { CommHook } from './hooks/index.ts';
import type { AverageRecovery, AveragedStep, ReducerSettings, Weigher } from './reducer-settings.ts';
import { SharedParameters } from './shared-parameters.ts';
import { unaveragedPass } from './unaveraged-pass.ts';
import { inStep } from './uneven-inputs.ts';

/** Reducers of a group are created in one order on all ranks, because that is a collective. */
let created = 0;

/**
 * Averages gradients over the ranks as they become ready (torch's c10d::Reducer). Buckets are in the group's
 * shared memory, so gradients are reduced in place, without a copy.
 *
 * All ranks start the same all-reduces in the same order, that of the buckets.
 */
export class Reducer implements SynchronousGradientSink {
  readonly #parameters: readonly DistributedParameter[];
  readonly #slots: GradientSlots;
  readonly #average: BucketAverage;
  readonly #synchronous: boolean;
  readonly #recovery: AverageRecovery | undefined;
  #sharing: SharedParameters | undefined;
  /** See `GradientSink`. */
  readonly order = (created += 1);
  #version = 0;
  /** Whether a backward pass has begun and not ended. */
  #isInPass = false;
  #averaging = false;
  #steps = 0;
  #waitedMs = 0;
  #weigher: Weigher | undefined;
  readonly #afterAverage: ReducerSettings['afterAverage'];
  readonly #readsParameters: ReducerSettings['readsParameters'];
  /** Number of `accumulating` calls in progress. */
  #accumulators = 0;

  /** @param parameters in order of definition; backward passes reach them in roughly the reverse order */
  constructor(group: ProcessGroup, parameters: readonly DistributedParameter[], settings: ReducerSettings) {
    const { firstCap, cap, overlaps = false, synchronous = false, recovery } = settings;
    this.#parameters = parameters;
    const isRepeatable = recovery !== undefined;
    this.#slots = new GradientSlots(group, parameters, { firstCap, cap, overlaps, isRepeatable });
    this.#average = new BucketAverage(group, this.#slots, recovery);
    this.#synchronous = synchronous;
    this.#afterAverage = settings.afterAverage;
    this.#readsParameters = settings.readsParameters;
    this.#recovery = recovery;
  }

  /** Changes when `arrayOf` returns different arrays, and when the parameters leave shared memory. */
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
    this.#sharing = new SharedParameters(this.#average.group, this.#parameters, this.#slots.buckets, () => {
      this.#sharing = undefined;
      this.#version += 1;
    });
  }

  /** Copies the gradients out of the memory of the group, which is destroyed next. */
  leaveGroup(): void {
    this.#slots.leaveGroup();
  }

  /** Moves the gradients into the memory of another group. A collective of that group. */
  enterGroup(group: ProcessGroup): void {
    this.#slots.enterGroup(group);
    this.#average.group = group;
    this.#version += 1;
  }

  arrayOf(parameter: DistributedParameter): Float32Array {
    return this.#slots.arrayOf(parameter);
  }

  bucketIndexOf(parameter: DistributedParameter): number {
    return this.#slots.bucketIndexOf(parameter);
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
    if (!accumulates) this.#average.weight = this.#weigher?.weigh() ?? 1;
    this.#isInPass = true;
    const gradientsOfRanks = this.#mayLeaveAverage(updated) ? this.#sharing?.gradients : undefined;
    // Other ranks may have read the gradients of the last pass until its update ended.
    if (gradientsOfRanks) this.#slots.unmarkAll();
    const plan = this.#slots.planOf(parameters);
    const newlyUsed = this.#slots.markUsed(plan);
    const abandon: GradientPass['abandon'] = (error, passes) => {
      this.#slots.unmarkUsed(newlyUsed);
      this.#endPass();
      return inStep(this.#steps + 1, error, { passes });
    };
    if (accumulates) return this.#accumulatingPass(abandon);
    this.#slots.contributeAbsent(plan);
    return gradientsOfRanks
      ? this.#unaveragedPass(plan, gradientsOfRanks, abandon)
      : this.#averagingPass(plan, abandon);
  }

  /** Whether an update of these parameters may average the gradients. Equal on all ranks. */
  #mayLeaveAverage(updated: ReadonlySet<DistributedParameter> | undefined): boolean {
    if (updated === undefined || this.isAccumulating || this.#average.hook !== undefined) return false;
    return this.#parameters.every((parameter) => updated.has(parameter));
  }

  /** Number of steps whose gradients have been averaged; the same on every rank. */
  get steps(): number {
    return this.#steps;
  }

  /** Milliseconds for which this rank has waited for gradients in all steps. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** What a process that joins a running job loads. */
  readonly stateDict = () => ({ steps: this.#steps });

  loadStateDict({ steps }: { steps: number }): void {
    this.#steps = steps;
  }

  /** Sets the weights of the ranks. Default: undefined, all ranks have equal weight. */
  set weigher(weigher: Weigher | undefined) {
    this.#weigher = weigher;
  }

  /**
   * Takes part in a step of the ranks that still train, without its own gradients. Its parameters receive the step's
   * averaged gradients. Resolves with false if no rank trains any longer: then the weight of the first bucket is 0 on
   * all ranks, and the other buckets are skipped.
   */
  async followStep(): Promise<boolean> {
    if (this.#weigher?.anyRankTrains() === false) return false;
    this.#isInPass = true;
    try {
      const trains = await this.#whileAveraging(() => this.#average.follow());
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
    if (this.#average.hook !== undefined || this.#isInPass) {
      const obstacle = this.#average.hook === undefined ? 'during a backward pass' : 'a second time';
      throw new RingrunError(
        'ERR_COMM_HOOK',
        `registerCommHook: called ${obstacle}. Call it once, after wrapping the model and before training.`,
      );
    }
    this.#average.registerHook(hook);
  }

  get hasCommHook(): boolean {
    return this.#average.hook !== undefined;
  }

  /** The states of the hook. Undefined without a hook and without recovery. */
  get hookStates(): HookStates | undefined {
    return this.#average.hookStates;
  }

  averageSync(parameters: readonly DistributedParameter[]): void {
    const accumulates = this.isAccumulating;
    if (!accumulates) this.#average.weight = this.#weigher?.weigh() ?? 1;
    const plan = this.#slots.planOf(parameters);
    this.#slots.markUsed(plan);
    if (accumulates) return;
    this.#slots.contributeAbsent(plan);
    const since = performance.now();
    this.#withStepInErrors(() => {
      this.#average.runSync();
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

  #averagingPass(plan: PassPlan, abandon: GradientPass['abandon']): GradientPass {
    return averagingPass({
      average: this.#average,
      bucketCount: this.#slots.buckets.length,
      plan,
      hasWeights: this.#weigher !== undefined,
      needsJavaScript: this.#readsParameters?.(this.#steps + 1) === true,
      recovery: this.#recovery,
      maxPasses: (limit) => this.#maxPasses(plan.absent, limit),
      end: (wait, waitedMs) => this.#endAfter(wait, waitedMs, plan.absent),
      endNow: (waitedMs, passes) => this.#endNow(waitedMs, plan.absent, passes),
      abandon,
    });
  }

  /** See `GradientPass.maxPasses`. Other ranks may run fewer, since their collectives have the same order. */
  #maxPasses(absent: readonly DistributedParameter[], limit: number): number {
    // A gradient that the pass does not write must be contributed again, and a weight computed.
    if (absent.length > 0 || this.#recovery !== undefined || this.#weigher !== undefined) return 1;
    // `uses` keeps its values from the last average. If only one rank marks a use repeatedly, the value shrinks by a
    // factor of the group's size with each pass, and must stay a normal number above 0.
    const most = Math.min(limit, Math.floor(126 / Math.max(1, Math.log2(this.#average.group.size))));
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
      end: (wait, waitedMs) => this.#endAfter(wait, waitedMs, absent, gradients),
      abandon,
    });
  }

  /**
   * Runs `wait`, and then ends the step and the pass.
   *
   * @param ofRanks see `#endStep`
   */
  async #endAfter(
    wait: () => Promise<void> | undefined,
    waitedMs: number,
    absent: readonly DistributedParameter[],
    ofRanks?: GradientsOfRanks,
  ): Promise<void> {
    const since = performance.now() - waitedMs;
    try {
      await this.#whileAveraging(wait);
      this.#emitWait(since);
      await this.#endStep(absent, { ofRanks });
    } finally {
      this.#endPass();
    }
  }

  /** Ends the step and the pass after operations that have succeeded. Undefined if nothing runs after the average. */
  #endNow(
    waitedMs: number,
    absent: readonly DistributedParameter[],
    passes: number,
  ): Promise<void> | undefined {
    let ending: Promise<void> | undefined;
    try {
      this.#emitWait(performance.now() - waitedMs);
      ending = this.#endStep(absent, { passes });
    } finally {
      if (ending === undefined) this.#endPass();
    }
    return ending?.finally(() => {
      this.#endPass();
    });
  }

  #emitWait(since: number): void {
    const now = performance.now();
    this.#waitedMs += now - since;
    ddpEvents.emit('waited', 'gradients', since, now, this.#steps + 1);
  }

  /**
   * @param absent parameters for which this rank had no gradient; those used by other ranks receive one
   * @param options `ofRanks`: the gradients, if they have not been averaged. `passes`: how many steps end. Default: 1.
   * @returns undefined if nothing runs after the average
   */
  #endStep(
    absent: readonly DistributedParameter[],
    { ofRanks, passes = 1 }: { ofRanks?: GradientsOfRanks | undefined; passes?: number } = {},
  ): Promise<void> | undefined {
    const last = this.#steps + passes;
    const unused = this.#concludeStep(absent, ofRanks);
    // Nothing runs after the average of a step that is followed by others: see `maxPasses`.
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
    const isUsed = (parameter: DistributedParameter) => (ofRanks ?? this.#slots).isUsedByAnyRank(parameter);
    if (this.#weigher?.divides) this.#average.divideByWeights();
    for (const parameter of absent) if (isUsed(parameter)) parameter.gradientWritten();
    let unused: Set<DistributedParameter> | undefined;
    for (const parameter of this.#parameters) {
      if (!isUsed(parameter)) (unused ??= new Set()).add(parameter);
    }
    // Otherwise other ranks may still read them.
    if (ofRanks === undefined) this.#slots.unmarkAll();
    return unused ?? none;
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

  #endPass(): void {
    this.#average.reset();
    this.#isInPass = false;
  }
}

const none: ReadonlySet<DistributedParameter> = new Set();
