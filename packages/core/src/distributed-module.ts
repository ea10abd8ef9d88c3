import type { TypedArray } from './dtype.ts';

/**
 * The interface between DistributedDataParallel and a model of any library.
 *
 * The library owns the parameters and computes the gradients. DDP provides the memory of each gradient (a
 * view of a bucket, in shared memory), is notified when the gradient has been written, and averages it over
 * the ranks before the optimizer reads it.
 */
export interface DistributedModule {
  /** Every trainable parameter once, in order of definition. The order must be the same on every rank. */
  namedParameters(): Iterable<readonly [name: string, parameter: DistributedParameter]>;

  /** State of the model that is not trained, such as running means. */
  namedBuffers(): Iterable<readonly [name: string, buffer: DistributedBuffer]>;

  /**
   * Names of the layers whose computation is a collective, such as synchronized batch normalization. Omit it
   * if the library has no such layers. Their collectives must be complete, or issued, before a backward pass
   * reports its first gradient.
   */
  namedCollectives?(): Iterable<string>;

  /**
   * True if the library's optimizers cannot await a promise, so gradients must be averaged synchronously: its
   * backward passes end with the sink's `backwardDoneSync`, and averaging starts only then. Default: `false`.
   */
  readonly synchronous?: boolean;

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
  /** Switches to training mode, or to evaluation mode if `mode` is false. Omit it if there are no modes. */
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
   * Receives this parameter's gradient. If it is undefined, the backward pass writes to the library's own
   * array.
   */
  gradientSink: GradientSink | undefined;
  /**
   * Marks the gradient as written: `grad` becomes defined, and the sink is notified. The library calls it
   * during a backward pass. The sink calls it at the end of a pass if only other ranks' losses depend on the
   * parameter.
   */
  gradientWritten(): void;
}

/** Receives the gradients of one model during backward passes. */
export interface GradientSink {
  /**
   * Returns the array into which every backward pass writes this parameter's gradient. It has as many
   * elements as the parameter.
   */
  arrayOf(parameter: DistributedParameter): Float32Array;

  /** Changes when `arrayOf` returns other arrays than before, between two steps. Omit it if it always returns the same. */
  readonly version?: number;

  /**
   * Returns the index of the parameter's bucket. The library delivers gradients in increasing order of this
   * index, so that the sink can average the first buckets during the rest of the backward pass.
   */
  bucketIndexOf(parameter: DistributedParameter): number;

  /** Called once per backward pass and parameter, when its gradient has been written. */
  gradientReady(parameter: DistributedParameter): void;

  /** Called at the end of a backward pass. Resolves when the optimizer may use the gradients. */
  backwardDone(): Promise<void>;
}

/** The `gradientSink` of the parameters of a `synchronous` module. */
export interface SynchronousGradientSink extends GradientSink {
  /**
   * Replaces `backwardDone` and averages on the calling thread, even if no gradient was reported, since other
   * ranks may have some. When it returns, the optimizer may use the gradients. Throws if averaging fails.
   */
  backwardDoneSync(): void;
}
