import type { GpuCommand, GpuLaunch } from '@ringrun/native';
import type { ValueType } from '../../value-type.ts';
import type { Kernel } from './lowering.ts';

/** A launch whose kernel is not compiled yet. */
export type PendingLaunch = Omit<GpuLaunch, 'module' | 'kernel'> & { readonly kernel: Kernel };

export type PendingCommand = Exclude<GpuCommand, GpuLaunch> | PendingLaunch;

/** A cell that makes a run fail if it is not 0. */
export interface Refusal {
  readonly describe: (found: bigint) => string;
}

/** The memory of a program, without a reference to the graph. */
export interface ProgramLayout {
  /** Inputs and outputs of a run. */
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
  /** Bytes of the inputs, of the outputs, of the constants, of the cells of refusals, and of the arena. */
  readonly slots: readonly number[];
  readonly constants: Uint8Array;
  readonly refusals: readonly Refusal[];
}

/** A program for a GPU, whose kernels are not compiled. */
export interface LoweredProgram extends ProgramLayout {
  /** Everything outside of the update, then the update. */
  readonly commands: readonly PendingCommand[];
  readonly updateCommands: readonly PendingCommand[];
}
