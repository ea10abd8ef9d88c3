import type { TypedArray } from '@ringrun/collectives';

/**
 * What DistributedDataParallel asks of a model, whichever library it is written in.
 *
 * The library owns the parameters and computes the gradients; DDP says where each gradient goes (its place in a bucket, in shared
 * memory), is told when it is there, and averages it over the ranks before the optimizer sees it.
 */
export interface DistributedModule {
  /** Every trainable parameter once, in the order of definition, which is the same on every rank. */
  namedParameters(): Iterable<readonly [name: string, parameter: DistributedParameter]>;

  /** State that is not trained but belongs to the model, such as running means. */
  namedBuffers(): Iterable<readonly [name: string, buffer: DistributedBuffer]>;

  /**
   * Names of the parts whose computation is a collective of the ranks, such as synchronised batch normalization: ranks compute them together, or none does. A library
   * without such parts leaves it out. The operations of a part are over, or issued, when a backward pass tells of its first gradient.
   */
  namedCollectives?(): Iterable<string>;

  /**
   * True where gradients must be averaged before a call returns, because the library's optimizers do not wait for promises: its backward passes end with the sink's
   * `backwardDoneSync`, and no average begins before. A library whose backward pass may be awaited leaves it out.
   */
  readonly synchronous?: boolean;

  /** False while the model is evaluated, when ranks may differ in how often they call it (torch.nn.Module.training). A library without such a mode leaves it out. */
  readonly training?: boolean;
}

/** A named array of a model, changed in place. */
export interface DistributedTensor {
  readonly shape: readonly number[];
  /** Row-major values. */
  readonly data: Float32Array;
}

/** State of a model, of any dtype, changed in place: a float32 running mean, an int64 count of batches. */
export interface DistributedBuffer {
  readonly shape: readonly number[];
  /** Row-major values. */
  readonly data: TypedArray;
  /**
   * Says that other values are on their way to `data`. From then on the library waits for them before it reads or writes the values: with `wait` where it can, and
   * with `waitSync` where `data` is asked for. Only for libraries that compute after `forward` has returned, and whose `data` is always the same array; a library that
   * computes in `forward` leaves it out, and DDP blocks there until the values have arrived.
   */
  expect?(arrival: Arrival): void;
}

/**
 * Values on their way to the buffers of a model. Where they cannot arrive, the buffers keep what they hold, and the error is thrown to those who wait, or to the
 * first who asks afterwards.
 */
export interface Arrival {
  /** Whether the values are there. Asking waits for nothing and reports no error, so it is for printing. */
  readonly hasArrived: boolean;
  /** Resolves when the values are there; undefined when they are. */
  wait(): Promise<void> | undefined;
  /** The same on the calling thread. */
  waitSync(): void;
}

export interface DistributedParameter extends DistributedTensor {
  /** The gradient that the optimizer would use; undefined when no backward pass has reached this parameter since gradients were last forgotten. */
  readonly grad: Float32Array | undefined;
  /** Where the backward pass delivers this parameter's gradient; undefined: to an array of the library's own. */
  gradientSink: GradientSink | undefined;
  /**
   * Says that the gradient is in its place, so that `grad` is defined and the sink is told. The library calls it in a backward pass; the sink at the
   * end of one, when this rank's loss does not depend on the parameter and another's does.
   */
  gradientWritten(): void;
}

/** Takes the gradients of one model, for one or more backward passes. */
export interface GradientSink {
  /** The array, of the parameter's number of elements, into which every backward pass writes this parameter's gradient. */
  placeOf(parameter: DistributedParameter): Float32Array;

  /**
   * Parameters whose gradients are wanted at the same time have one number; those of lower numbers are wanted first, so that the sink can begin with
   * them while the rest of the backward pass computes.
   */
  groupOf(parameter: DistributedParameter): number;

  /** Told once per backward pass for each parameter, when its gradient is in its place. */
  gradientReady(parameter: DistributedParameter): void;

  /** Called at the end of a backward pass; resolves when every gradient in its place may be used by the optimizer. */
  backwardDone(): Promise<void>;
}

/** What DDP sets as the `gradientSink` of the parameters of a module that is `synchronous`. */
export interface SynchronousGradientSink extends GradientSink {
  /**
   * Takes the place of `backwardDone`: averages on the calling thread, also where no gradient was told of, as others may have some. When it returns, every gradient in its
   * place may be used; an error of the average is thrown.
   */
  backwardDoneSync(): void;
}

/**
 * What a library calls when a gradient of a parameter without a `gradientSink` is in its place: `globalThis[Symbol.for('ringrun.unaveragedGradient')]`, where there is
 * one. ringrun puts it there when it is loaded, and warns of training in a group without the wrapper; a registry, because libraries import only types of ringrun.
 */
export type UnaveragedGradientObserver = () => void;
