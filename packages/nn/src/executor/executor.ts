import type { TensorData } from '../dtype.ts';
import type { ValueType } from '../graph/node.ts';

/** A graph in ONNX's format; inputs and outputs are named by their positions (`input_0`, `output_0`, …). */
export interface ProgramDefinition {
  /** What it does, for who measures it: `backward`, `optimizer.step`, … */
  readonly name: string;
  readonly model: Uint8Array;
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
  /** Whether the memory of what is computed on the way is held for the next run. What needs little is as fast without. */
  readonly holdsMemory: boolean;
  /** Whether the graph has so many operators that compiling it quickly is worth more than what fusing some of them saves in a run. */
  readonly isLong: boolean;
}

export const inputName = (position: number): string => `input_${position}`;
export const outputName = (position: number): string => `output_${position}`;

/** A compiled graph. */
export interface Program {
  /**
   * Computes every output from the inputs, in the order of the definition. The arrays of `outputs` are written in place; an array may
   * be an input and an output where the output is an elementwise function of it.
   */
  run(inputs: readonly TensorData[], outputs: readonly TensorData[]): Promise<void>;
  /** Frees the memory of the program; no run comes after it. */
  release(): Promise<void>;
}

/** What runs graphs. Everything that knows onnxruntime is behind this interface. */
export interface Executor {
  compile(definition: ProgramDefinition): Promise<Program>;
}
