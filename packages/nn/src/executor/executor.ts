import type { TensorData } from '../dtype.ts';
import type { ValueType } from '../graph/node.ts';

/** A graph in ONNX's format; inputs and outputs are named by their positions (`input_0`, `output_0`, …). */
export interface ProgramDefinition {
  /** Name in the profiler: `backward`, `optimizer.step`, … */
  readonly name: string;
  readonly model: Uint8Array;
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
  /** If true, keeps the memory of intermediate values for the next run. Small programs are as fast without. */
  readonly holdsMemory: boolean;
  /** True if the graph has so many operators that fast compilation matters more than fusing operators. */
  readonly isLong: boolean;
}

export const inputName = (position: number): string => `input_${position}`;
export const outputName = (position: number): string => `output_${position}`;

/** A compiled graph. */
export interface Program {
  /**
   * Computes every output from the inputs, in the order of the definition. Writes `outputs` in place. An array may be both
   * an input and an output if the output is an elementwise function of it.
   */
  run(inputs: readonly TensorData[], outputs: readonly TensorData[]): Promise<void>;
  /** Frees the memory of the program. It cannot run afterwards. */
  release(): Promise<void>;
}

/** Compiles and runs graphs. The only interface between the compiler and onnxruntime. */
export interface Executor {
  compile(definition: ProgramDefinition): Promise<Program>;
}
