import type { ActivityDetails } from '@ringrun/core';
import type { ValueType } from '../../value-type.ts';

/** A graph in ONNX format; inputs and outputs are named by their positions (`input_0`, `output_0`, …). */
export interface OnnxModel {
  /** Name in the profiler. */
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
