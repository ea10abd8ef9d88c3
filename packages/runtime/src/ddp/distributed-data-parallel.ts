import {
  formatWrapper,
  InvalidArgumentError,
  invalidateRecordedCalls,
  registry,
  requireOptions,
  RingrunError,
} from '@ringrun/core';
import type {
  CommHook,
  DistributedDataParallelOptions,
  DistributedModule,
  ForwardModule,
  ProcessGroup,
} from '@ringrun/core';
import { defaultGroup } from '../process-group/index.ts';
import { firstBucketCapMb } from './buckets.ts';
import { broadcastBuffersSync, BufferBroadcasts, hasBuffers } from './buffers.ts';
import { ddpEvents } from './events.ts';
import { FaultTolerance, refused } from './fault-tolerance.ts';
import { Join, joinOptions, requireNoCollectives, type JoinOptions } from './join.ts';
import { requireSameModel } from './model-agreement.ts';
import { checkedSettings, requireDdpOptions, type Settings } from './options.ts';
import type { AveragedStep } from './reducer-settings.ts';
import { Reducer } from './reducer.ts';
import { checkedBatchSize, samplesOf } from './sample-weights.ts';
import { requireMovable } from './shared-parameters.ts';
import { gradientSinkOf, isDense, requireDense, requireMayBeSparse } from './sparse-reducer.ts';
import { StepChecks } from './step-checks.ts';
import { UnusedParameters } from './unused-parameters.ts';

/** The library's own type of the model's parameters. */
export type ParameterOf<M extends DistributedModule> =
  ReturnType<M['namedParameters']> extends Iterable<readonly [string, infer Parameter]> ? Parameter : never;

/**
 * Trains one model on every rank's own data (torch.nn.parallel.DistributedDataParallel).
 *
 * The constructor is a collective. It throws if the models differ between ranks in a name or shape, and
 * broadcasts the parameters and buffers of rank 0. Afterwards `await loss.backward()` resolves when the
 * gradients are averaged over all ranks, so identical optimizers keep the parameters bit-identical.
 *
 * Create the optimizer from the same parameters, before or after wrapping: wrapping keeps their arrays, except with the
 * option `shareParameters`.
 */
export class DistributedDataParallel<M extends ForwardModule> {
  /** The wrapped model. Use it for its own methods and for saving. */
  readonly module: M;
  readonly #ownGroup: ProcessGroup;
  readonly #settings: Settings;
  readonly #faultTolerance: FaultTolerance | undefined;
  /** False if the model has no buffers. */
  readonly #broadcastsBuffers: boolean;
  readonly #buffers: BufferBroadcasts;
  readonly #reducer: Reducer;
  readonly #unused: UnusedParameters;
  readonly #checks: StepChecks;
  #join: Join | undefined;

  constructor(module: M, options?: DistributedDataParallelOptions);
  /** @internal With `faultTolerance: 'shrink'`, shares the recovery of a wrapper around this one. */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the API has the first one only
  constructor(module: M, options: DistributedDataParallelOptions, recovery: FaultTolerance | undefined);
  constructor(module: M, options: DistributedDataParallelOptions = {}, recovery?: FaultTolerance) {
    requireDdpOptions(options);
    const group = options.processGroup ?? defaultGroup();
    const settings = checkedSettings(options, group);
    if (settings.shareParameters) requireMovable(module);
    requireMayBeSparse(module, settings);
    requireSameModel(group, module, settings);
    const all = [...module.namedParameters()].map(([, parameter]) => parameter);
    const parameters = all.filter(({ requiresGrad }) => requiresGrad !== false);
    if (parameters.length === 0) {
      const got = all.length === 0 ? 'none' : `${all.length} frozen ones`;
      throw new InvalidArgumentError(
        `DistributedDataParallel: expected a model with at least one parameter that is trained, got ${got}. Wrap a model that can be trained.`,
      );
    }
    this.module = module;
    this.#ownGroup = group;
    this.#settings = settings;
    if (settings.faultTolerance === 'shrink') {
      this.#faultTolerance = recovery ?? new FaultTolerance(module, settings, options);
    }
    this.#broadcastsBuffers = settings.broadcastBuffers && hasBuffers(module);
    for (const { data } of all) group.broadcastSync(data, { src: 0 });
    broadcastBuffersSync(group, module);
    this.#buffers = new BufferBroadcasts(group, module);
    const cap = settings.bucketCapMb * 2 ** 20;
    this.#unused = new UnusedParameters(module.namedParameters(), group.rank === 0 ? warn : () => undefined);
    this.#checks = new StepChecks(module, settings.verifyEvery, warn);
    this.#reducer = new Reducer(group, parameters.filter(isDense), {
      firstCap: Math.min(firstBucketCapMb * 2 ** 20, cap),
      cap,
      overlaps: settings.overlap,
      synchronous: module.synchronous ?? false,
      readsParameters: (step) => this.#checks.isDue(step, this.#group),
      afterAverage: module.synchronous ? this.#endStepSync.bind(this) : this.#endStep.bind(this),
      ...(this.#faultTolerance && { recovery: this.#faultTolerance }),
    });
    this.#faultTolerance?.repeats(this.#reducer);
    if (settings.shareParameters) this.#reducer.shareParameters();
    // Includes frozen parameters, so that a gradient after unfreezing is an error.
    const sink = gradientSinkOf(group, this.#reducer, parameters);
    for (const parameter of all) parameter.gradientSink = sink;
    invalidateRecordedCalls();
  }

  /** The wrapper and its module as torch prints them: see `toString` of `nn.Module`. `console.log` prints the same text. */
  toString(): string {
    return formatWrapper(this.constructor.name, this.module);
  }

  /** The text of `toString`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /**
   * Runs the wrapped model's forward. In training mode and outside `noSync`, this is a collective if the
   * model has buffers: see `broadcastBuffers`. For evaluation, call `module.forward`, or switch the model to
   * evaluation mode.
   *
   * A model of `@ringrun/nn` does not wait for the broadcast here. The first operation that reads or writes
   * the buffers does, usually `backward`, which also rejects if the broadcast fails. Reading a buffer's
   * `data` earlier blocks until the broadcast is complete.
   */
  forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    if (this.training) this.#beforeTrainingForward(inputs);
    return this.module.forward(...inputs) as ReturnType<M['forward']>;
  }

  /**
   * Backward passes inside `run` accumulate gradients on this rank without communication (torch's
   * DDP.no_sync). Every rank must do so for the same passes. The first pass outside averages the accumulated
   * gradients, its own included, over the ranks. Parameters used only inside `run` are averaged too.
   *
   * Call `optimizer.step()` only after a pass outside: until then the gradients differ between ranks. Calls
   * may be nested.
   *
   * @returns the result of `run`. A pass counts as inside if it starts there, so await it inside `run`.
   */
  noSync<Result>(run: () => Promise<Result>): Promise<Result> {
    return this.#reducer.accumulating(run);
  }

  /**
   * Trains with uneven numbers of batches per rank (torch: with Join([model])). A collective. `run` is the
   * training loop. A rank whose loop has ended takes part in the steps of the others without gradients of its
   * own, until all loops have ended. Without `join`, a rank that leaves its loop early causes an
   * `UnevenInputsError` on the others.
   *
   * Gradients are averaged over the samples of the ranks that still train; the loss must be a mean over the
   * batch. A rank's sample count is the first dimension of the inputs of `forward` since the last average, or
   * the value passed to `setBatchSize`. In steps with equal batches on all ranks, the gradients are
   * bit-identical to those without `join`. At the end, every rank receives the parameters (and the buffers,
   * if they are broadcast) of the rank with the most steps.
   *
   * Gradients are zeros afterwards: call `zeroGrad` before the next backward pass.
   *
   * Inside `run`, this model's steps must be the group's only collectives. After each step the buffers of the
   * first rank that still trains are broadcast. If `run` throws, this rank leaves at once, and the others
   * throw an error that names it.
   *
   * A model with SyncBatchNorm is not supported, as in torch: a rank without a batch cannot take part in its
   * statistics.
   *
   * @returns the result of `run`
   * @throws RingrunError `ERR_JOIN_UNDER_WAY` inside another join of this model; `ERR_JOIN_COLLECTIVES`, on every
   * rank and before `run` starts, for a model whose layers are collectives; InvalidArgumentError for a model with
   * `shareParameters`
   */
  async join<Result>(run: () => Promise<Result>, options: JoinOptions = {}): Promise<Result> {
    requireOptions('join', options, joinOptions);
    if (this.#faultTolerance) {
      throw refused('expected no join, got one. Give every rank the same number of batches.');
    }
    if (this.#settings.shareParameters) {
      throw new InvalidArgumentError(
        'join: expected a model without shareParameters, got one with it: a rank without batches would not update its part. Leave shareParameters out, or give every rank the same number of batches.',
      );
    }
    requireNoCollectives(this.module);
    requireDense(this.module, 'join');
    if (this.#join !== undefined) {
      throw new RingrunError(
        'ERR_JOIN_UNDER_WAY',
        'join: this model is inside another join already. Remove the inner call.',
      );
    }
    this.#join = new Join(this.#group, this.#reducer, this.module);
    invalidateRecordedCalls();
    try {
      if (this.#broadcastsBuffers) await this.#buffers.run();
      const [result, furthest] = await this.#join.trainThenFollow(run, options);
      if (furthest !== undefined) await this.#broadcastStateOf(furthest);
      return result;
    } finally {
      this.#join = undefined;
    }
  }

  /**
   * Sets the number of samples that this rank contributes to the next average inside `join`. Default: the
   * first dimension of the first input of `forward`. It has no effect outside `join`: all ranks have equal
   * weight there, as in torch.
   *
   * @throws InvalidArgumentError if `samples` is not a number above 0
   */
  setBatchSize(samples: number): void {
    const checked = checkedBatchSize(samples);
    this.#join?.setSamples(checked);
  }

  /**
   * Averages gradients with `hook` instead of one all-reduce per bucket (torch: register_comm_hook). Every
   * rank must register the same hook before training, and before `shareState`. `commHooks` contains hooks that compress
   * gradients.
   *
   * @throws RingrunError `ERR_COMM_HOOK` if a hook is registered already or a backward pass is in progress;
   * `ERR_FAULT_TOLERANCE` after `shareState` with `faultTolerance: 'shrink'`
   */
  registerCommHook(hook: CommHook): void {
    this.#faultTolerance?.requireMayRegisterHook();
    this.#reducer.registerCommHook(hook);
  }

  /**
   * Names of the parameters that no rank's loss depended on in the last step, in order of definition,
   * identical on every rank. Their `grad` is unchanged: after `zeroGrad` it is undefined, so optimizers skip
   * them. Rank 0 prints each name once to stderr.
   */
  get unusedParameters(): readonly string[] {
    return this.#unused.last;
  }

  /**
   * With `faultTolerance: 'shrink'`, registers the objects that a new process needs in addition to the model:
   * optimizer, scheduler, sampler or loader, counters of the program. All ranks pass the same names. Call it once,
   * before the first step, on every rank.
   *
   * In a process that replaces a dead one, `initProcessGroup` forms a group of this process alone, and `shareState`
   * joins the running job: it resolves when this process is one of the job's ranks and has received the parameters, the
   * buffers and the states of the objects from a living rank, as they were before the next step. Continue as after
   * `Checkpointer.resume`. Without `faultTolerance` it does nothing.
   *
   * @returns true if this process has joined a running job
   * @throws InvalidArgumentError if the model or the names differ from the running job's; RingrunError `ERR_JOB_ENDED`
   * if the job ends first
   */
  async shareState(objects: Readonly<Record<string, unknown>> = {}): Promise<boolean> {
    return (await this.#faultTolerance?.shareState(objects)) ?? false;
  }

  /**
   * Runs collectives of the program, such as those of an evaluation or of `Checkpointer.save`, so that all ranks complete
   * them. With `faultTolerance: 'shrink'`, `run` is called again with another group after a rank has died, so it must
   * not change its inputs. Outside of `retry` they throw `PeerDiedError`. All ranks call it at the same place.
   *
   * @param run receives the default group
   * @returns the result of the last call of `run`
   */
  async retry<Result>(run: (group: ProcessGroup) => Promise<Result>): Promise<Result> {
    return this.#faultTolerance === undefined
      ? await run(this.#group)
      : await this.#faultTolerance.retry(run);
  }

  /**
   * With `faultTolerance: 'shrink'`: RANK, as started, of the ranks whose gradients the last step averaged. Empty before
   * the first step, and without `faultTolerance`.
   */
  get stepRanks(): readonly number[] {
    return this.#faultTolerance?.stepRanks ?? [];
  }

  /**
   * Broadcasts the buffers of rank 0 now. A collective (torch: the private _sync_buffers). After a step, each
   * rank has the running statistics of its own data until the next forward in training mode, so call this
   * before the ranks evaluate a model together and at the end of training. Does nothing for a model without
   * buffers. Waits as `forward` does.
   */
  syncBuffers(): void {
    // With fault tolerance each step ends with their broadcast.
    if (this.#faultTolerance === undefined) this.#buffers.beginAfterPending();
  }

  /** With fault tolerance, replaced after a rank has died or joined. */
  get #group(): ProcessGroup {
    return this.#faultTolerance?.group ?? this.#ownGroup;
  }

  /**
   * Whether the model is in training mode (torch.nn.Module.training). True for a model without modes. Only then
   * is `forward` a collective.
   */
  get training(): boolean {
    return this.module.training !== false;
  }

  /**
   * Switches the model to training mode, or to evaluation mode if `mode` is false (torch.nn.Module.train). Not a
   * collective, but all ranks must train in the same mode. Default of `mode`: true. Returns this wrapper.
   *
   * @throws InvalidArgumentError if the model has no method `train`
   */
  train(mode = true): this {
    if (this.module.train === undefined) {
      throw new InvalidArgumentError(
        `DistributedDataParallel.${mode ? 'train' : 'eval'}: expected a model with a method train(mode), got one without. Switch the mode through the model's own library.`,
      );
    }
    this.module.train(mode);
    return this;
  }

  /**
   * `train(false)` (torch.nn.Module.eval). In evaluation mode `forward` is not a collective, so ranks may
   * evaluate different numbers of batches. Returns this wrapper.
   */
  eval(): this {
    return this.train(false);
  }

  /** The parameters of the model in order of definition, for an optimizer (torch.nn.Module.parameters). */
  parameters(): ParameterOf<M>[] {
    return Array.from(this.module.namedParameters(), ([, parameter]) => parameter as ParameterOf<M>);
  }

  /**
   * The model's parameters with their names, in order of definition (torch.nn.Module.named_parameters; torch's DDP adds
   * the prefix `module.`).
   */
  namedParameters(): ReturnType<M['namedParameters']> {
    return this.module.namedParameters() as ReturnType<M['namedParameters']>;
  }

  /**
   * The model's buffers with their names, in order of definition (torch.nn.Module.named_buffers; torch's DDP adds the
   * prefix `module.`).
   */
  namedBuffers(): ReturnType<M['namedBuffers']> {
    return this.module.namedBuffers() as ReturnType<M['namedBuffers']>;
  }

  async #broadcastStateOf(src: number): Promise<void> {
    for (const [, { data }] of this.module.namedParameters()) await this.#group.broadcast(data, { src });
    if (this.#broadcastsBuffers) await this.#buffers.run({ src });
  }

  #beforeTrainingForward(inputs: readonly unknown[]): void {
    if (this.#faultTolerance) return;
    // All ranks must do the following at the same calls.
    if (this.#join !== undefined || this.#broadcastsBuffers) invalidateRecordedCalls();
    this.#join?.addSamples(samplesOf(inputs));
    if (this.#join !== undefined || !this.#broadcastsBuffers || this.#reducer.isAccumulating) return;
    this.#buffers.beginAfterPending(() => this.#reducer.steps + 1);
  }

  /** Undefined if the caller need not wait. */
  #endStep({ step, unused }: AveragedStep): Promise<void> | undefined {
    this.#unused.record(step, unused);
    ddpEvents.emit('averaged', step, this.#group.rank);
    const receivesBuffers = this.#join !== undefined && this.#broadcastsBuffers;
    const communicates = receivesBuffers || this.#checks.isDue(step, this.#group);
    return communicates ? this.#communicateAfterStep(step) : undefined;
  }

  async #communicateAfterStep(step: number): Promise<void> {
    if (this.#join !== undefined && this.#broadcastsBuffers) {
      await this.#buffers.run({ src: await this.#join.firstTrainingRank() });
    }
    if (!this.#checks.isDue(step, this.#group)) return;
    await this.#checks.run(step, {
      retry: this.retry.bind(this),
      counts: this.#join?.trains ?? true,
      waitedMs: this.#reducer.waitedMs,
    });
  }

  #endStepSync({ step, unused }: AveragedStep): void {
    this.#unused.record(step, unused);
    ddpEvents.emit('averaged', step, this.#group.rank);
    this.#checks.runSync(step, this.#group);
  }
}

registry.distributedDataParallel ??= DistributedDataParallel;

function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}
