import type { ActivityDetails, GpuGroup, StartableOperation } from '@ringrun/core';
import type { Value } from '../graph/node.ts';
import type { Leaf } from '../graph/structure.ts';
import type { GradientBucket } from './device-collectives.ts';
import type { ValueBuffer } from './value-buffer.ts';
import type { ValueMemory } from './value-memory.ts';

/**
 * What a graph is for:
 *
 * - `evaluation`: computes values, without gradients. It may run only once, so fast compilation matters.
 * - `training`: a loss, its gradients, and perhaps an update. It runs many times. The gradients read values of the forward pass.
 * - `update`: an optimizer's step alone. It runs many times.
 * - `segment`: a part of other graphs, in a chain of programs. It runs many times.
 */
export type ProgramPurpose = 'evaluation' | 'training' | 'update' | 'segment';

/**
 * A graph, and how it is run. The executor translates it into what its device runs: ONNX for onnxruntime, kernels for a GPU.
 *
 * The graph is differentiated, and contains the rewrites that hold for every executor: no value without elements is computed
 * (except for collectives), and no AddSlope is left. With RINGRUN_PLAIN_OPERATORS=1 it consists of the operators of ONNX and of
 * collectives. An executor may rewrite it further, in any way that keeps the results of each run the same on every rank.
 *
 * **Do not keep the definition, its nodes, or its leaves after `compile` has returned a program**, because leaves have the arrays
 * of models and batches. Keep types, attributes and names.
 */
export interface ProgramDefinition {
  /** Name in the profiler: `forward`, `step`, `optimizer.step`, … */
  readonly name: string;
  /** Figures beside the name in the profiler. Default: none. */
  readonly details?: ActivityDetails | undefined;
  readonly purpose: ProgramPurpose;
  /**
   * The leaves (nodes Input and Number) in the order of the inputs of a run. Inputs of bfloat16 have float32 elements that
   * bfloat16 represents, because memory has no bfloat16.
   *
   * Only the value of a leaf is part of the graph. Its source is not: each run binds other buffers. Two facts of a source are the
   * same in every run, and may be used: whether it has a `parameter`, so that its values stay the same except for updates, and
   * whether two leaves are one value.
   *
   * Numbers that change between runs are leaves too: learning rates, the factor of `x.mul(beta)`, and the keys of random numbers.
   * So a program draws no random numbers. Dropout computes its mask from key and position (Philox 4x32-10), and the gradient
   * computes it again.
   */
  readonly leaves: readonly Leaf[];
  /**
   * The values that a run writes to its outputs, in this order; those of bfloat16 as float32. For training, the loss is first,
   * then new values of buffers such as running means, then the gradients by bucket and from the last layer to the first.
   *
   * An output may be a leaf, and one value may be several outputs.
   */
  readonly outputs: readonly Value[];
  /**
   * Positions of the outputs that are ready together, such as the gradients of one bucket. When a run has written all outputs of
   * a part, it starts the call of the part: see `Program.run`. Parts are in the order of their calls. Each output is in one part
   * at most.
   */
  readonly parts: readonly (readonly number[])[];
  /** In-place changes at the end of a run. Default: none. */
  readonly update?: ProgramUpdate | undefined;
}

/** In-place changes at the end of a run, such as those of an optimizer. */
export interface ProgramUpdate {
  /** Additional inputs, after the leaves of the definition. The update also reads those. */
  readonly leaves: readonly Leaf[];
  /**
   * Additional outputs, after those of the definition. A run may bind the buffer of an output that is also the buffer of a leaf
   * (`p ← p − lr·g`): each output is an elementwise function of that leaf, and no other node reads the leaf afterwards. So write
   * in place, after everything outside of the update has been computed.
   */
  readonly outputs: readonly Value[];
  /**
   * Leaves that are no inputs: each has the elements of an output of the definition after the call of its part has ended, by
   * position of the output. So an update reads the averaged gradient from the buffer to which the run has written its own one.
   */
  readonly reads: ReadonlyMap<number, Value>;
  /** Set if it writes memory that other ranks read. Its calls follow those of the parts. Default: undefined. */
  readonly shared?: SharedUpdate | undefined;
}

/**
 * An update of memory that other ranks read. After the calls of the parts, the program makes the calls of the update's
 * collectives and then a barrier.
 *
 * It exists only for executors whose values lie in memory of the host (`usesHostMemory`).
 */
export interface SharedUpdate {
  /** Leaves that read gradients or parts of them, which other ranks may write. */
  readonly gradients: readonly Value[];
  /** True if the first call is another barrier, before the update. If false, the call of the last part is a barrier. */
  readonly waitsBefore: boolean;
}

/**
 * The calls of a running graph, by number. A call that the graph awaits must not need another program, because programs share
 * one compute thread.
 */
export type GraphCall =
  /** Starts operations, in this order. The graph may await them. Only if the executor `usesHostMemory`. */
  | ({ readonly operations: readonly StartableOperation[] } & Partial<CallArrays>)
  /** Runs while the graph continues. The outputs of the part are complete, and JavaScript may read them. */
  | { readonly notify: () => void }
  /** The update awaits it. */
  | DeviceCall
  /** The graph awaits it. */
  | PerformedCall;

/**
 * A call that the program makes by itself, on a device that has `collectives`: a collective of the graph between devices, or the
 * averages of buckets in which the outputs of a part are.
 */
export interface DeviceCall {
  /** Undefined if there is one rank, so that nothing is averaged. */
  readonly group: GpuGroup | undefined;
  /** The buckets of a part, in the order of the averages. Not for collectives of the graph. */
  readonly buckets: readonly GradientBucket[];
  /** The collective of a graph for a device that runs this graph on the host. */
  readonly onHost?: PerformedCall;
}

/** A call of JavaScript that the graph awaits. */
export type PerformedCall = { readonly perform: () => Promise<void> } & CallArrays;

/** The graph fills `sends` before the call, and reads `receives` after it. */
export interface CallArrays {
  readonly sends: readonly Float32Array[];
  readonly receives: readonly Float32Array[];
  /** The error of a run whose graph cannot use the received elements. */
  readonly refusal?: () => Error;
}

/** How long a run has waited for calls. */
export interface Waits {
  /** Milliseconds for all calls. */
  readonly waitedMs: number;
  /** Milliseconds for calls that the graph awaited at once: collectives. */
  readonly ranMs: number;
}

/** Buffers that one run reads and writes. */
export interface RunBuffers {
  readonly inputs: readonly ValueBuffer[];
  readonly outputs: readonly ValueBuffer[];
}

/** A compiled graph. Its runs do not overlap: the caller awaits each one. Runs of different programs may. */
export interface Program {
  /**
   * Computes every output from the inputs, in the order of the definition. Writes `outputs` in place; they are complete
   * when the promise resolves. A buffer may be both an input and an output if the output is an elementwise function of it. The
   * buffers of the next run may be others. Buffers of `upload` are valid for this run only.
   *
   * **Order.** Any order that respects the edges of the graph, and these rules:
   *
   * - Collectives (AllReduce, AllGather, CombineStatistics) run one after another in the order of `inSequence`, which is equal on
   *   all ranks, even if no output depends on one of them.
   * - Calls are numbered: the collectives of the definition in that order; then the parts; then, for a shared update, the barrier
   *   before it, its collectives, and the barrier after it. They begin in this order on every rank.
   * - The call of a part begins when its outputs have been written, as early as possible, because communication then overlaps
   *   the rest of the backward pass. The loss, and everything else that is in no part, is written before the first of them.
   *   From then on the call owns the memory of the outputs: no other node may read it.
   * - The update begins after all else, and reads an output after the call of its part has ended.
   * - AddDependency(a, b) is `a`, computed after `b`. A part between Checkpoint boundaries (`gradientCheckpoint`) is in the graph
   *   twice; the second copy reads its inputs through such dependencies, so that the values of the first copy are freed before.
   *   Do not merge equal nodes across it.
   *
   * **Errors.** A run that cannot use the user's values, such as an index out of range (CheckIndices), throws an `ArgumentError`
   * with the operator's message; an error of a call, or a `refusal`, is thrown as it is; all else is an `NnError` (ERR_EXECUTOR).
   * After an error, outputs have arbitrary elements, but an update has not begun unless the error is one of its own. The program
   * can run again.
   *
   * **Bits.** The same inputs give the same bits in every run, whatever the number of threads.
   *
   * @param calls by number; see above. Default: none.
   * @param later create the buffers of subsequent runs (`step.each`), before the last has ended: each call must start operations, which
   * every run starts again. Each run reads what earlier ones have written. The first error ends all of them. Default: none.
   * @returns how long the runs waited for calls
   * @throws the error of a call that failed
   */
  run(
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
    calls?: readonly GraphCall[],
    later?: readonly (() => RunBuffers)[],
  ): Promise<Waits>;
  /**
   * `run` on the calling thread, for a graph without calls. It blocks the event loop until the outputs are complete, and takes
   * less time for a small graph, because no other thread wakes.
   */
  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void;
  /** Frees the memory of the program after its pending runs have ended. It cannot run afterwards. */
  release(): Promise<void>;
}

/** Programs without calls that run one after another, and the places of their values. */
export interface Chain {
  readonly programs: readonly Program[];
  /**
   * For each program, the places of its inputs and then of its outputs: the index of a buffer, or, for a value between programs, -1
   * minus its offset in bytes.
   */
  readonly places: Float64Array;
  readonly buffers: readonly ValueBuffer[];
  /** Bytes of the values between programs. */
  readonly bytesBetween: number;
}

/**
 * Compiles and runs graphs, and owns the memory of their values: the only interface between the compiler and a device. Two
 * executors may be used in one process. `select.ts` chooses.
 */
export interface Executor extends ValueMemory {
  /** The device in messages and in `tensor.device`: `cpu`, `cuda:0`. */
  readonly device: string;
  /**
   * The settings on which compiled programs depend, such as those of TF32. A program that was compiled with other ones is not
   * used again. Default: none.
   */
  readonly settings?: () => string;
  /**
   * Rewrites the outputs of a forward pass into the operators and layouts that are fast on this device, with equal shapes and
   * types of outputs. It is called before differentiation, so the gradients follow the rewritten operators: each must have a rule
   * of differentiation. Leaves must stay the same objects.
   *
   * This is also the place to replace operators of the addon that the device does not have (`plainOperators`): their gradients are
   * operators of the addon too, and have no plain form.
   *
   * @param purpose `training` if the result is differentiated
   */
  prepareForward(outputs: readonly Value[], purpose: 'evaluation' | 'training'): readonly Value[];
  /** @throws NnError (ERR_EXECUTOR) if the device or a library cannot be used, or the graph cannot be compiled */
  compile(definition: ProgramDefinition): Promise<Program>;
  /** `compile`, which blocks the event loop until the program is compiled. For a graph without collectives and parts. */
  compileSync(definition: ProgramDefinition): Program;
  /**
   * Runs programs without JavaScript in between, for graphs that are not compiled as a whole. Undefined if a device compiles every
   * graph.
   *
   * @throws as `Program.run`
   */
  readonly runChain?: (chain: Chain) => Promise<void>;
  /** `runChain` on the calling thread, as `Program.runSync`. */
  readonly runChainSync?: (chain: Chain) => void;
}
