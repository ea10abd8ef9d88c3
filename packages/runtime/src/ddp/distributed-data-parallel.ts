import { InvalidArgumentError, requireOptions, RingrunError, type ProcessGroup } from '@ringrun/collectives';
import { defaultGroup } from '../process-group/index.ts';
import { tellOfSteps } from '../report/train-job/counted-steps.ts';
import { firstBucketCapMb } from './buckets.ts';
import { broadcastBuffersSync, BufferBroadcasts } from './buffers.ts';
import { verifyIdentical, verifyIdenticalSync } from './consistency.ts';
import type { DistributedModule } from './distributed-module.ts';
import type { CommHook } from './hooks/index.ts';
import { Join, joinOptions, refuseCollectives, type JoinOptions } from './join.ts';
import { requireSameModel } from './model-agreement.ts';
import {
  checkedSettings,
  requireDdpOptions,
  type DistributedDataParallelOptions,
  type Settings,
} from './options.ts';
import { Reducer, type AveragedStep } from './reducer.ts';
import { checkedBatchSize, samplesOf } from './sample-weights.ts';
import { UnusedParameters } from './unused-parameters.ts';

/** A model that computes: `forward` takes and gives what its library calls tensors. */
export interface ForwardModule extends DistributedModule {
  forward(...inputs: never[]): unknown;
}

/**
 * Trains one model on every rank's own data (torch.nn.parallel.DistributedDataParallel).
 *
 * The constructor, a collective, refuses models that differ between ranks in a name or shape, and gives every rank the parameters and buffers of rank 0. From
 * then on `await loss.backward()` resolves when the gradients are the average over all ranks, so that equal optimizers keep the parameters bit-identical.
 *
 * Create the optimizer from the same parameters, before or after wrapping; their arrays stay.
 */
export class DistributedDataParallel<M extends ForwardModule> {
  /** The wrapped model, for its own methods, for saving and for evaluation. */
  readonly module: M;
  readonly #group: ProcessGroup;
  readonly #settings: Settings;
  /** Whether there is anything to broadcast, too. */
  readonly #broadcastsBuffers: boolean;
  readonly #buffers: BufferBroadcasts;
  readonly #reducer: Reducer;
  readonly #unused: UnusedParameters;
  #join: Join | undefined;

  constructor(module: M, options: DistributedDataParallelOptions = {}) {
    requireDdpOptions(options);
    const group = options.processGroup ?? defaultGroup();
    const settings = checkedSettings(options, group);
    requireSameModel(group, module, settings);
    const parameters = [...module.namedParameters()].map(([, parameter]) => parameter);
    if (parameters.length === 0) {
      throw new InvalidArgumentError(
        'DistributedDataParallel: the model has no parameters, so there is nothing to average.',
      );
    }
    this.module = module;
    this.#group = group;
    this.#settings = settings;
    this.#broadcastsBuffers = settings.broadcastBuffers && hasBuffers(module);
    for (const { data } of parameters) group.broadcastSync(data, { src: 0 });
    broadcastBuffersSync(group, module);
    this.#buffers = new BufferBroadcasts(group, module);
    const cap = settings.bucketCapMb * 2 ** 20;
    this.#unused = new UnusedParameters(module.namedParameters(), group.rank === 0 ? warn : () => undefined);
    this.#reducer = new Reducer(group, parameters, {
      firstCap: Math.min(firstBucketCapMb * 2 ** 20, cap),
      cap,
      overlaps: settings.overlap,
      synchronous: module.synchronous ?? false,
      afterAverage: module.synchronous ? this.#endStepSync.bind(this) : this.#endStep.bind(this),
    });
    for (const parameter of parameters) parameter.gradientSink = this.#reducer;
  }

  /**
   * The wrapped model's forward. In training mode, outside of `noSync`, it is a collective for a model with buffers: see `broadcastBuffers`. Evaluate with
   * `module.forward`, or in evaluation mode.
   *
   * A model of `@ringrun/nn` does not wait for the broadcast here: what reads or writes the buffers does, as a rule `backward`, which then also rejects with the
   * broadcast's error. Reading a buffer's `data` before that blocks until the values are there.
   */
  forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    if (this.module.training !== false) this.#beforeTrainingForward(inputs);
    return this.module.forward(...inputs) as ReturnType<M['forward']>;
  }

  /**
   * Backward passes inside of `run` add their gradients up on this rank alone (torch's DDP.no_sync); every rank does so for the same passes. The first pass
   * outside averages over the ranks what each has accumulated, its own gradient included: the result is the average over the ranks of the ranks' sums, as if each
   * pass had been averaged by itself, for one exchange. Parameters that only passes inside have used are averaged with the others.
   *
   * Call `optimizer.step()` after a pass outside: before, the ranks' gradients differ. Calls may be nested.
   *
   * @returns what `run` resolves with; a pass counts as inside when it delivers its first gradient there, so await it there
   */
  noSync<Result>(run: () => Promise<Result>): Promise<Result> {
    return this.#reducer.accumulating(run);
  }

  /**
   * Trains with as many batches as each rank has (torch: with Join([model])): a collective. `run` is the loop; a rank whose loop has ended takes part in the
   * steps of the others without gradients of its own, until all have ended. Without it, a rank that leaves its loop early gives the others an
   * `UnevenInputsError`.
   *
   * Gradients are averaged over the samples of the ranks that still train: each rank's count is the first dimension of what `forward` was given since the last
   * average, or what `setBatchSize` said, so that losses are means over the batch. In steps with equal batches on all ranks the gradients have the same bytes as
   * without join. When all have ended, every rank has the parameters (and buffers, where they are broadcast) of the one with the most steps.
   *
   * Gradients are zeros then: begin what follows with `zeroGrad`.
   *
   * Inside, this model's steps must be the group's only collectives. Buffers are given to all ranks after each step, from the first rank that still trains.
   * An error of `run` ends this rank's part at once, and the others get an error that names it.
   *
   * A model with SyncBatchNorm cannot be trained so: a rank without a batch has nothing to normalize with the others (torch does not support it either).
   *
   * @returns what `run` resolves with
   * @throws RingrunError `ERR_JOIN_UNDER_WAY` inside of another join of this model; `ERR_JOIN_COLLECTIVES`, before `run` begins and on every rank, for a
   * model with parts that are collectives themselves
   */
  async join<Result>(run: () => Promise<Result>, options: JoinOptions = {}): Promise<Result> {
    requireOptions('join', options, joinOptions);
    refuseCollectives(this.module);
    if (this.#join !== undefined) {
      throw new RingrunError(
        'ERR_JOIN_UNDER_WAY',
        'join was called inside of a join of the same model: one is enough.',
      );
    }
    this.#join = new Join(this.#group, this.#reducer);
    try {
      if (this.#broadcastsBuffers) await this.#buffers.run();
      const [result, furthest] = await this.#join.trainThenFollow(run, options);
      if (furthest !== undefined) await this.#takeStateOf(furthest);
      return result;
    } finally {
      this.#join = undefined;
    }
  }

  /**
   * How many samples this rank's next average stands for, inside of `join`; unless it is called, the first dimension of `forward`'s first input. Outside of
   * join it has no effect: ranks count equally there, as in torch.
   *
   * @throws InvalidArgumentError for anything but a number above 0
   */
  setBatchSize(samples: number): void {
    const checked = checkedBatchSize(samples);
    this.#join?.weights.fix(checked);
  }

  /**
   * Averages gradients by `hook` instead of one all-reduce per bucket (torch's register_comm_hook); every rank registers the same one, before training.
   * `commHooks` has some that send less.
   *
   * @throws RingrunError `ERR_COMM_HOOK` for a second one, or one during a backward pass
   */
  registerCommHook(hook: CommHook): void {
    this.#reducer.registerCommHook(hook);
  }

  /**
   * Names of the parameters on which no rank's loss depended in the last step, in the order of definition; the same on every rank. Their `grad` is as it was:
   * undefined after `zeroGrad`, so that optimizers leave them out. Rank 0 says each name once on stderr.
   */
  get unusedParameters(): readonly string[] {
    return this.#unused.last;
  }

  /**
   * Gives every rank the buffers of rank 0 now; a collective (torch: _sync_buffers, which is private there). After a step each rank has running statistics of its own data until the next
   * forward in training mode: call it before ranks evaluate a model together, and at the end. A model without buffers costs nothing. It waits as `forward` does.
   */
  syncBuffers(): void {
    this.#buffers.begin();
  }

  namedParameters(): ReturnType<M['namedParameters']> {
    return this.module.namedParameters() as ReturnType<M['namedParameters']>;
  }

  namedBuffers(): ReturnType<M['namedBuffers']> {
    return this.module.namedBuffers() as ReturnType<M['namedBuffers']>;
  }

  async #takeStateOf(src: number): Promise<void> {
    for (const [, { data }] of this.module.namedParameters()) await this.#group.broadcast(data, { src });
    if (this.#broadcastsBuffers) await this.#buffers.run({ src });
  }

  #beforeTrainingForward(inputs: readonly unknown[]): void {
    this.#join?.weights.saw(samplesOf(inputs));
    if (this.#join !== undefined || !this.#broadcastsBuffers || this.#reducer.isAccumulating) return;
    this.#buffers.begin({ step: this.#reducer.steps + 1 });
  }

  async #endStep({ step, unused }: AveragedStep): Promise<void> {
    this.#unused.record(step, unused);
    if (this.#group.rank === 0) tellOfSteps(step);
    if (this.#join !== undefined && this.#broadcastsBuffers) {
      await this.#buffers.run({ src: await this.#join.firstThatTrains() });
    }
    if (this.#isToBeVerified(step)) await this.#verify(step);
  }

  #endStepSync({ step, unused }: AveragedStep): void {
    this.#unused.record(step, unused);
    if (this.#group.rank === 0) tellOfSteps(step);
    if (this.#isToBeVerified(step)) {
      verifyIdenticalSync([...this.module.namedParameters()], this.#group, { step });
    }
  }

  #isToBeVerified(step: number): boolean {
    const { verifyEvery } = this.#settings;
    return verifyEvery > 0 && step % verifyEvery === 0;
  }

  /** Before the optimizer moves them. A rank that has run out of batches has parameters of an earlier step. */
  async #verify(step: number): Promise<void> {
    const counts = this.#join?.trains ?? true;
    await verifyIdentical([...this.module.namedParameters()], this.#group, { counts, step });
  }
}

function hasBuffers(module: DistributedModule): boolean {
  for (const _ of module.namedBuffers()) return true;
  return false;
}

function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}
