import type { NativePreparedOperation } from './process-group.ts';
import type { NativeTensor } from './tensors.ts';

/** An input or output of a model. */
export interface NativeOnnxSlot {
  readonly name: string;
  /** onnx.TensorProto.DataType. */
  readonly elementType: number;
  readonly elementBytes: number;
  readonly shape: readonly number[];
}

/** Options of a session of onnxruntime. */
export interface NativeOnnxOptions {
  /** Threads that compute one operator; 0: one per core. */
  readonly intraOpThreads: number;
  /**
   * Nice increment of computing threads, on Linux (nice(2)); 0: none. The first session of a JavaScript
   * thread decides. That thread then asks Linux (6.12 and later) for short slices, so that its timers are on time.
   */
  readonly computeNice: number;
  /** If true, fuses and removes operators. */
  readonly optimizes: boolean;
  /** Other settings by onnxruntime's names, such as `session.intra_op.allow_spinning`. */
  readonly entries: Readonly<Record<string, string>>;
}

/**
 * A model that onnxruntime compiles and runs on the CPU, on a compute thread that all sessions of a JavaScript thread
 * share. Its calls, and the runs of its bindings, run in order.
 */
export interface NativeOnnxSession {
  /**
   * Loads the library, unless it is loaded, and compiles the model. Rejects with the reason: of `code` `LIBRARY` if the
   * library cannot be used.
   */
  compile(model: Uint8Array): Promise<void>;
  /** `compile` that blocks the calling thread. Throws like `runSync`, or the error with which `compile` rejects. */
  compileSync(model: Uint8Array): void;
  /** Reports the end of a JavaScript call. Does nothing if the run has ended. */
  endCall(run: number, call: number, succeeded: boolean): void;
  /** Frees the session's memory after earlier calls. Later runs are rejected. */
  release(): Promise<void>;
  /** Version of the loaded library, such as `1.30.0`. Empty before `compile`. */
  libraryVersion(): string;
}

/**
 * The arrays and calls of runs of a session, instead of onnxruntime's IoBinding. Arrays are read and written in place; each
 * has the byte length of its slot.
 */
export interface NativeOnnxBinding {
  /** Replaces an array, for the next runs. Slots are the inputs, then the outputs. */
  replace(slot: number, array: NativeTensor): void;
  /** The calls of the graph's nodes in the next runs, by their attribute `call` (native/src/onnxruntime/operators/calls.h). */
  setCalls(calls: readonly NativeGraphCall[]): void;
  /**
   * Computes the outputs. The arrays must stay allocated until the promise settles. If a call failed, the error has its
   * index as `failedCall`.
   *
   * @param onCall Called for each JavaScript call that the graph starts. If the graph awaits it, `endCall` of the session
   * must follow. It must not throw.
   * @returns undefined if the outputs are computed already: a graph without calls, whose last run took less than 0.3 ms, runs
   * on the calling thread unless earlier runs are pending. It then throws instead of rejecting.
   */
  run(onCall?: (call: number, run: number) => void): Promise<void> | undefined;
  /**
   * Computes the outputs on the calling thread, after earlier runs: it takes less time for a small graph, because no thread
   * is woken, but blocks the event loop. Throws if the graph has calls, or if a run with JavaScript calls is pending, which
   * could not end.
   */
  runSync(): void;
  /**
   * Runs once with the arrays of the slots and then once for each element of `later`, whose arrays replace those of
   * `slots`. No call may be a JavaScript call. Afterwards the slots have their own arrays again.
   */
  runEach(slots: readonly number[], later: readonly (readonly NativeTensor[])[]): Promise<void>;
  /** Releases the arrays, whose memory the garbage collector would otherwise free later. No run may be pending or follow. */
  release(): void;
  /** Milliseconds for which the last runs waited for all calls, and for those awaited immediately (collectives). */
  readonly waits: Float64Array;
}

/** A call of a running graph: operations that are started one after another, or JavaScript without a list. */
export interface NativeGraphCall {
  readonly operations?: readonly NativePreparedOperation[];
  /** Arrays that are filled before the call, and read after it. */
  readonly sends?: readonly Float32Array[];
  readonly receives?: readonly Float32Array[];
}
