import type { GpuCommand, GpuLaunch } from '@ringrun/native';
import type { ValueType } from '../../value-type.ts';
import type { CollectiveMessage, Kernel, Refusal } from './lowering.ts';

/** A launch whose kernel is not compiled yet. */
export type PendingLaunch = Omit<GpuLaunch, 'module' | 'kernel'> & { readonly kernel: Kernel };

export type PendingCommand = Exclude<GpuCommand, GpuLaunch> | PendingLaunch;

/** What follows a section. */
export type Boundary =
  /** The collectives of a graph, in their order. */
  | ({ readonly kind: 'collective' } & CollectiveMessage)
  /** All outputs of a part are complete. Parts follow all collectives. */
  | { readonly kind: 'part'; readonly index: number }
  /** The update begins, which reads outputs of the parts. */
  | { readonly kind: 'update' };

/** Commands without communication between them. */
export interface Section<Command> {
  readonly commands: readonly Command[];
  /** Number of the cells that this section and those before it may set: the first ones. */
  readonly refusals: number;
  /** Undefined after the last section. */
  readonly boundary: Boundary | undefined;
}

/** The memory of a program, without a reference to the graph. */
export interface ProgramLayout {
  /** Inputs and outputs of a run. */
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
  /**
   * Bytes of the inputs, of the outputs, of the constants, of the cells of refusals, of those that are kept (keep-refusals.ts), and of
   * the arena.
   */
  readonly slots: readonly number[];
  readonly constants: Uint8Array;
  readonly refusals: readonly Refusal[];
}

/** A program for a GPU, whose kernels are not compiled. */
export interface LoweredProgram extends ProgramLayout {
  readonly sections: readonly Section<PendingCommand>[];
}
