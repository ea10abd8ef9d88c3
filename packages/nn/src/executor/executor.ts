import type { ActivityDetails, StartableOperation } from '@ringrun/core';
import type { ValueType } from '../value-type.ts';
import type { ValueBuffer } from './value-buffer.ts';
import type { ValueMemory } from './value-memory.ts';

/** A graph in ONNX format; inputs and outputs are named by their positions (`input_0`, `output_0`, …). */
export interface ProgramDefinition {
  /** Name in the profiler: `backward`, `optimizer.step`, … */
  readonly name: string;
  /** Figures beside the name in the profiler. Default: none. */
  readonly details?: ActivityDetails | undefined;
  readonly model: Uint8Array;
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
  /** True if the graph has so many operators that fast compilation matters more than fusing operators. */
  readonly isLong: boolean;
}

export const inputName = (position: number): string => `input_${position}`;
export const outputName = (position: number): string => `output_${position}`;

/**
 * The calls of a running graph, indexed by the attribute `call` of its nodes. A call that the graph awaits must not need another
 * program, because programs share one compute thread.
 */
export type GraphCall =
  /** Starts operations, in this order. The graph may await them. */
  | ({ readonly operations: readonly StartableOperation[] } & Partial<CallArrays>)
  /** Runs while the graph continues. */
  | { readonly notify: () => void }
  /** The graph awaits it. */
  | ({ readonly perform: () => Promise<void> } & CallArrays);

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

/** A compiled graph. */
export interface Program {
  /**
   * Computes every output from the inputs, in the order of the definition. Writes `outputs` in place; they are complete
   * when the promise resolves. A buffer may be both an input and an output if the output is an elementwise function of it.
   *
   * @param later buffers of subsequent runs, without JavaScript in between: each call must start operations.
   * Default: none.
   * @returns how long the runs waited for calls
   * @throws the error of a call that failed
   */
  run(
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
    calls?: readonly GraphCall[],
    later?: readonly RunBuffers[],
  ): Promise<Waits>;
  /**
   * `run` on the calling thread, for a graph without calls. It blocks the event loop until the outputs are complete, and takes
   * less time for a small graph, because no other thread wakes.
   */
  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void;
  /** Frees the memory of the program after its pending runs have ended. It cannot run afterwards. */
  release(): Promise<void>;
}

/**
 * Compiles and runs graphs, and owns the memory of their values. The only interface between the compiler and onnxruntime.
 */
export interface Executor extends ValueMemory {
  compile(definition: ProgramDefinition): Promise<Program>;
  /** `compile`, which blocks the event loop until the program is compiled. */
  compileSync(definition: ProgramDefinition): Program;
}
