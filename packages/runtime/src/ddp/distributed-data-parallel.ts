import { InvalidArgumentError, type ProcessGroup } from '@ringrun/collectives';
import { defaultGroup } from '../process-group/index.ts';
import { defaultBucketCapMb, firstBucketCapMb } from './buckets.ts';
import { broadcastBuffers } from './buffers.ts';
import type { DistributedModule } from './distributed-module.ts';
import type { CommHook } from './hooks/index.ts';
import { requireSameModel } from './model-agreement.ts';
import { Reducer } from './reducer.ts';
import { UnusedParameters } from './unused-parameters.ts';

/** A model that computes: `forward` takes and gives what its library calls tensors. */
export interface ForwardModule extends DistributedModule {
  forward(...inputs: never[]): unknown;
}

export interface DistributedDataParallelOptions {
  /** Ranks that train together; the default group unless given. */
  processGroup?: ProcessGroup;
  /** Size of a gradient bucket in MiB; 25 unless given. The first bucket has 1. */
  bucketCapMb?: number;
  /**
   * Whether every forward of a model in training mode first gives all ranks the buffers of rank 0 (torch's broadcast_buffers); true unless given. Where it is
   * false, each rank's running means are those of its own data. A model without buffers costs nothing either way.
   */
  broadcastBuffers?: boolean;
}

/**
 * Trains one model on every rank's own data (torch.nn.parallel.DistributedDataParallel).
 *
 * The constructor, a collective, gives every rank the parameters and buffers of rank 0, once all ranks' models have the same names and shapes. From then on `await loss.backward()` resolves when the gradients
 * are the average over all ranks, so that equal optimizers keep the parameters bit-identical.
 *
 * Create the optimizer from the same parameters, before or after wrapping; their arrays stay.
 */
export class DistributedDataParallel<M extends ForwardModule> {
  /** The wrapped model, for its own methods, for saving and for evaluation. */
  readonly module: M;
  readonly #group: ProcessGroup;
  readonly #broadcastsBuffers: boolean;
  readonly #reducer: Reducer;
  readonly #unused: UnusedParameters;

  constructor(module: M, options: DistributedDataParallelOptions = {}) {
    const { bucketCapMb = defaultBucketCapMb, broadcastBuffers: broadcasts = true } = options;
    if (!(bucketCapMb > 0)) {
      throw new InvalidArgumentError(`bucketCapMb must be a number of MiB above 0, given ${bucketCapMb}.`);
    }
    const group = options.processGroup ?? defaultGroup();
    requireSameModel(group, module);
    const parameters = [...module.namedParameters()].map(([, parameter]) => parameter);
    if (parameters.length === 0) {
      throw new InvalidArgumentError(
        'DistributedDataParallel: the model has no parameters, so there is nothing to average.',
      );
    }
    this.module = module;
    this.#group = group;
    this.#broadcastsBuffers = broadcasts;
    for (const { data } of parameters) group.broadcastSync(data, { src: 0 });
    broadcastBuffers(group, module);
    const cap = bucketCapMb * 2 ** 20;
    this.#unused = new UnusedParameters(module.namedParameters(), group.rank === 0 ? warn : () => undefined);
    this.#reducer = new Reducer(group, parameters, {
      firstCap: Math.min(firstBucketCapMb * 2 ** 20, cap),
      cap,
      afterAverage: ({ step, unused }) => {
        this.#unused.record(step, unused);
      },
    });
    for (const parameter of parameters) parameter.gradientSink = this.#reducer;
  }

  /**
   * The wrapped model's forward. In training mode, outside of `noSync`, it is a collective for a model with buffers: see `broadcastBuffers`. Evaluate with
   * `module.forward`, or in evaluation mode.
   */
  forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    if (this.#broadcastsBuffers && this.module.training !== false && !this.#reducer.isAccumulating) {
      broadcastBuffers(this.#group, this.module);
    }
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

  namedParameters(): ReturnType<M['namedParameters']> {
    return this.module.namedParameters() as ReturnType<M['namedParameters']>;
  }

  namedBuffers(): ReturnType<M['namedBuffers']> {
    return this.module.namedBuffers() as ReturnType<M['namedBuffers']>;
  }
}

function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}
