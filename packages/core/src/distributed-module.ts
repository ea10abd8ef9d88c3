import type { TypedArray } from './dtype.ts';
import type { ProcessGroup } from './process-group.ts';

/**
 * The interface between DistributedDataParallel and a model of any library.
 *
 * The library owns the parameters and computes the gradients. DDP provides the memory of each gradient (a
 * view of a bucket, in shared memory), is notified when a bucket has been written, and averages it over
 * the ranks before the optimizer reads it.
 */
export interface DistributedModule {
  /** Every parameter once, in order of definition. The order must be the same on every rank. */
  namedParameters(): Iterable<readonly [name: string, parameter: DistributedParameter]>;

  /** State of the model that is not trained, such as running means. */
  namedBuffers(): Iterable<readonly [name: string, buffer: DistributedBuffer]>;

  /**
   * Names of the layers whose computation is a collective, such as synchronized batch normalization. Omit it
   * if the library has no such layers. Their collectives must be complete, or issued, before a backward pass
   * reports its first bucket.
   */
  namedCollectives?(): Iterable<string>;

  /**
   * Calls a function when all earlier operations, such as backward passes, have ended. Calls it at once and returns
   * undefined if no operation is pending, or if the caller runs inside one of them. Later operations wait for the
   * function. If an earlier operation fails, the promise rejects and the function is not called. Omit it if the library
   * computes when it is called.
   */
  afterPending?(call: () => void): Promise<void> | undefined;

  /**
   * True if the library's optimizers cannot await a promise, so gradients must be averaged synchronously: its
   * backward passes end with the sink's `averageSync`. Default: `false`.
   */
  readonly synchronous?: boolean;

  /** The device on which the model computes now: `cpu`, `cuda:0`. Omit it if that is always the CPU. */
  readonly computesOn?: string;

  /**
   * False in evaluation mode, in which ranks may call the model a different number of times
   * (torch.nn.Module.training). Omit it if the library has no such mode.
   */
  readonly training?: boolean;
}

/** A model with `forward`, whose inputs and output are tensors of its library. */
export interface ForwardModule extends DistributedModule {
  /** Computes the model's output. DistributedDataParallel passes its inputs on unchanged. */
  forward(...inputs: never[]): unknown;
  /** Switches to training mode, or to evaluation mode if `mode` is false. Omit it if the library has no modes. */
  train?(mode?: boolean): unknown;
}

/** A parameter's shape and values. The values are changed in place. */
export interface DistributedTensor {
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** Row-major values. */
  readonly data: Float32Array;
}

/**
 * A buffer of any dtype, such as a float32 running mean or an int64 count of batches. The values are changed
 * in place.
 */
export interface DistributedBuffer {
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** Row-major values. */
  readonly data: TypedArray;
  /**
   * Announces that a broadcast will overwrite `data`. Before it reads or writes the values, the library must
   * call `wait`, or `waitSync` in the getter of `data`. Implement it only if the library computes after
   * `forward` has returned and `data` is always the same array. Without it, DDP blocks in `forward` until the
   * broadcast is complete.
   */
  expect?(arrival: Arrival): void;
  /**
   * Makes `data` current before a broadcast reads it, without a call of its getter. Implement it if runs change the values
   * elsewhere, such as in the memory of a GPU.
   */
  toHost?(): void;
}

/**
 * A broadcast of a model's buffers in progress. If it fails, the buffers keep their values, and the error is
 * thrown to all waiting callers, or to the next caller if none is waiting.
 */
export interface Arrival {
  /** Whether the broadcast is complete. Reading it neither waits nor reports an error, so it is for printing. */
  readonly hasArrived: boolean;
  /** Resolves when the broadcast is complete; undefined if it is complete already. */
  wait(): Promise<void> | undefined;
  /** Like `wait`, but blocks the calling thread. */
  waitSync(): void;
}

/** A trainable parameter and its gradient. */
export interface DistributedParameter extends DistributedTensor {
  /**
   * The gradient that the optimizer uses; undefined if no backward pass has reached this parameter since
   * gradients were last cleared.
   */
  readonly grad: Float32Array | undefined;
  /**
   * False if the parameter is frozen: it has no gradients. Gradients of parameters that are frozen when their model is
   * wrapped are not sent. Omit it if the library does not freeze parameters. Default: `true`.
   */
  readonly requiresGrad?: boolean;
  /**
   * Receives this parameter's gradient. If it is undefined, the backward pass writes to the library's own
   * array.
   */
  gradientSink: GradientSink | undefined;
  /**
   * Replaces `data` by another array of the same length that holds the values; a function is called at the first use.
   * Omit it if the library cannot replace arrays: its models cannot be wrapped with `shareParameters`.
   */
  replaceData?(data: Float32Array | (() => Float32Array)): void;
  /**
   * Makes `grad` the array of the sink. The sink calls it at the end of a pass if only other ranks' losses depend on the
   * parameter.
   */
  gradientWritten(): void;
  /**
   * True if gradients of the parameter, a table [V, D], consist of some of its rows. The library then keeps them in its own
   * memory, and the sink exchanges rows. Omit it if all gradients are dense.
   */
  readonly hasSparseGradient?: boolean;
  /** The rows of `grad`; undefined if there is no gradient. Omit it if all gradients are dense. */
  readonly gradientRows?: GradientRows | undefined;
  /**
   * Makes the sum of the rows of all ranks, in the order of the ranks, divided by a number, the rows of `grad`. Omit it if all
   * gradients are dense.
   */
  averageGradientRows?(ofRanks: readonly GradientRows[], divisor: number): void;
}

/** Some rows of a table. */
export interface GradientRows {
  /** In increasing order, without duplicates. */
  readonly indices: Int32Array;
  /** Row-major [indices.length, D]. */
  readonly values: Float32Array;
}

/** Receives the gradients of one model during backward passes. */
export interface GradientSink {
  /**
   * Returns the array into which every backward pass writes this parameter's gradient. It has as many
   * elements as the parameter.
   */
  arrayOf(parameter: DistributedParameter): Float32Array;

  /**
   * Orders the sinks of this process: two sinks that average over the same ranks have the same order on each of them.
   * Default: 0.
   */
  readonly order?: number;

  /**
   * Changes when, between two steps, `arrayOf` returns different arrays or the parameters' arrays are replaced. Omit it
   * if neither happens.
   */
  readonly version?: number;

  /** Undefined if each rank has its own parameters. */
  readonly sharing?: ParameterSharing | undefined;

  /**
   * Whether an average may be repeated after a rank has died. Then the parameters must not change before `done` has
   * resolved. Default: `false`.
   */
  readonly mayRepeat?: boolean;

  /**
   * Returns the index of the parameter's bucket. The library computes gradients in increasing order of this
   * index, so that the sink can average the first buckets during the rest of the backward pass.
   */
  bucketIndexOf(parameter: DistributedParameter): number;

  /**
   * Begins a backward pass that writes the gradients of these parameters. The library calls it before it computes, and
   * ends the pass with `done` or `abandon`.
   *
   * @param updated the parameters that an optimizer updates after the pass, if nothing else reads their gradients. The
   * same on all ranks. Default: unknown.
   */
  beginPass(
    parameters: readonly DistributedParameter[],
    updated?: ReadonlySet<DistributedParameter>,
  ): GradientPass;
}

/**
 * Parts of an array that are never divided between ranks, in elements, from its beginning. The norm of gradients is summed
 * by these parts, so its bits do not depend on the number of ranks.
 */
export const partElements = 2 ** 15;

/**
 * Parameters in memory that the ranks of a host share. An optimizer updates this rank's parts only, and keeps its states
 * in shared memory too.
 */
export interface ParameterSharing {
  /**
   * The elements of a parameter that this rank updates: whole parts of `partElements`. The other ranks of its host update
   * the other parts. May be empty.
   */
  ownPartOf(parameter: DistributedParameter): ElementRange;

  /**
   * The gradient arrays of all ranks, in their order. They may be read between `done` of a pass with `updateAverages` and the
   * call of `synchronize` after the update. Their average is their sum in this order, divided by their number.
   */
  gradientsOf(parameter: DistributedParameter): readonly Float32Array[];

  /** The ranks, for collectives of an update. */
  readonly group: ProcessGroup & Partial<PreparesCollectives>;

  /**
   * Returns an array of zeros for each length, which the ranks of a host share. A collective, which blocks the calling
   * thread: all ranks pass the same lengths. The arrays outlive the process group.
   */
  allocateSync(lengths: readonly number[]): Float32Array[];

  /**
   * Resolves when all ranks have called it. An optimizer calls it before an update, because other ranks may still read
   * the parameters, and after it, when the parameters have their new values. After a pass with `updateAverages`, it
   * calls it only after the update.
   */
  synchronize(): Promise<void>;

  /**
   * The operation of `synchronize`, for a library that starts it without JavaScript; undefined if it must call
   * `synchronize`. Ranks may differ in this.
   */
  prepareSynchronize(): StartableOperation | undefined;
}

/** Elements `begin` to `end - 1` of an array. */
export interface ElementRange {
  /** Index of the first element. */
  readonly begin: number;
  /** Index after the last element. */
  readonly end: number;
}

/** A backward pass and the average of its gradients. */
export interface GradientPass {
  /**
   * True if the pass does not average, but ends when all ranks have written their gradients: the update averages those of
   * the parts that it changes (`ParameterSharing.gradientsOf`). Equal on all ranks. Only if `beginPass` received `updated`.
   * Default: `false`.
   */
  readonly updateAverages?: boolean;

  /**
   * Called in increasing order of `index`, when the gradients of the pass in buckets up to this one have been written.
   */
  bucketReady(index: number): void;

  /**
   * The operations that the library may start in place of `bucketReady(index)`, in this order and from any thread.
   * Undefined, for every index, if averaging needs JavaScript. `index` is the index of a bucket that the pass writes.
   */
  startableAt(index: number): readonly StartableOperation[] | undefined;

  /**
   * The average for a library whose gradients lie on a GPU, where they are averaged without copies on the host. The library then
   * calls `done` with `isAveraged`, and `bucketReady` for no bucket. Undefined if the average needs the gradients on the host. Equal
   * on all ranks.
   */
  onDevice?(): DeviceAverage | undefined;

  /**
   * The number of consecutive passes of the same graph, including this one and at most `limit`, after which `done` may
   * be called once for all of them. Requires that the library starts and awaits the operations of `startableAt` in each
   * pass. Default: 1.
   */
  maxPasses?(limit: number): number;

  /**
   * Called when all gradients have been written. Resolves when the optimizer may use them; undefined if it may use them now.
   */
  done(settings?: PassEnd): Promise<void> | undefined;

  /**
   * Called instead of `done` if the pass has failed. Returns the error, with the step if a collective failed.
   *
   * @param passes number of passes, one of which failed. Default: 1.
   */
  abandon(error: unknown, passes?: number): unknown;
}

/** The average of the gradients of a pass on a GPU. */
export interface DeviceAverage {
  /** The ranks. Undefined if there is one rank: nothing is exchanged. */
  readonly group: GpuGroup | undefined;
  /** In the order in which they are averaged. The same objects in every pass, until `version` of the sink changes. */
  readonly buckets: readonly DeviceBucket[];
  /** The buckets to average when the gradients of an index, and of those before it, have been written. */
  readyAt(index: number): readonly DeviceBucket[];
  /** False if parameters must not change before `done` has resolved. */
  readonly mayUpdate: boolean;
  /** True if `tail` of each bucket must have its average when `done` is called. */
  readonly readsTails: boolean;
}

/** The gradients that one collective averages. */
export interface DeviceBucket {
  /** The parameters, in an order that is equal on all ranks. Those that the pass does not reach take part with `grad`, or zeros. */
  readonly parameters: readonly DistributedParameter[];
  /** Numbers on the host that are averaged too. */
  readonly tail: Float32Array;
}

/** A process group whose collectives a program on a GPU contains. */
export interface GpuGroup {
  /** Index of the GPU of this rank among the visible ones. */
  readonly device: number;
  /**
   * Runs a program of the addon (`NativeGpuProgram`) with collectives (`NativeGpuExchange`). One operation of the group: all ranks
   * have the same collectives, and agree on them once.
   *
   * @throws CollectiveMismatchError if the collectives of a rank differ; the errors of every collective
   */
  runProgram(program: object, exchanges: readonly object[]): Promise<void>;
}

/** How a pass has ended. */
export interface PassEnd {
  /** Whether the library has started all operations of `startableAt`. Default: `false`. */
  readonly isStarted?: boolean;
  /** Whether the library has averaged the gradients on a GPU, as `onDevice` describes. Default: `false`. */
  readonly isAveraged?: boolean;
  /** Milliseconds that the library waited for these operations. Default: 0. */
  readonly waitedMs?: number;
  /** The number of passes: see `maxPasses`. Default: 1. */
  readonly passes?: number;
}

/** A collective that a library can start without JavaScript, while it computes. */
export interface StartableOperation {
  /** The operation of the addon. */
  readonly native: object;
  /** Resolves when the operation has ended, if it was started; undefined if it has succeeded already. Rejects if it failed. */
  ended(): Promise<void> | undefined;
}

/** A collective on float32 numbers in its own memory, which a library can start without JavaScript. */
export interface PreparedCollective extends StartableOperation {
  /** This rank's input. */
  readonly input: Float32Array;
  /** The result. For an all-reduce, the same array as the input. */
  readonly output: Float32Array;
}

/** A process group whose collectives a library can start without JavaScript. */
export interface PreparesCollectives {
  /** False if the group can be called only from JavaScript now. */
  readonly mayStartCollectives: boolean;
  /**
   * Prepares an all-reduce (SUM), or an all-gather in rank order. Call it only while `mayStartCollectives`.
   *
   * @param length numbers of each rank
   */
  prepareCollective(name: 'allReduce' | 'allGather', length: number): PreparedCollective;
}

/** The `gradientSink` of the parameters of a `synchronous` module. */
export interface SynchronousGradientSink extends GradientSink {
  /**
   * Replaces `beginPass` and the calls that follow it: averages the written gradients on the calling thread, even if
   * this rank has none, because other ranks may have some. When it returns, the optimizer may use the gradients. Throws
   * if averaging fails.
   */
  averageSync(parameters: readonly DistributedParameter[]): void;
}
