import type { GpuAddress, GpuArgument, GpuCommand, GpuExtent } from '@ringrun/native';
import type { Node, Value } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import type { LibrarySettings } from '../precision.ts';

/** A kernel in CUDA C++. Equal sources are compiled once per device, so one source may have several kernels. */
export interface Kernel {
  /** In errors: `softmax.cu`. */
  readonly file: string;
  /** Of the function, which is declared `extern "C" __global__`. */
  readonly name: string;
  /** CUDA C++17 without includes. */
  readonly source: string;
  /** True for a generated kernel, which is compiled together with those of its program. Default: false. */
  readonly isGenerated?: boolean;
}

/** A cell that makes a run fail if it is not 0. */
export interface Refusal {
  /** The error, or the message of an ArgumentError without the period at its end. */
  readonly describe: (found: bigint) => string | Error;
}

/** What a collective of a program sends and receives: float32 numbers. */
export interface CollectiveMessage {
  readonly name: 'allReduce' | 'allGather';
  readonly send: GpuAddress;
  /** Of an all-reduce, `send`. Of an all-gather, the numbers of all ranks in their order. */
  readonly receive: GpuAddress;
  /** Numbers that each rank sends. */
  readonly length: number;
}

/**
 * The commands of one node. Memory has elements row-major: float32, bfloat16 of 2 bytes, int64, and bool as one byte, 0 or 1.
 */
export interface Lowering {
  readonly settings: LibrarySettings;
  /**
   * Where the elements of an input or output of the node are. No two outputs overlap, and no output overlaps an input, except for
   * elementwise nodes. An output that nothing reads has memory too.
   */
  at(value: Value): GpuAddress;
  /** False if no node reads an output, and it is no output of the program: it need not be computed. */
  isRead(output: Value): boolean;
  /** Memory that one node uses while it runs, aligned to 256 bytes, with arbitrary contents. */
  scratch(bytes: number): GpuAddress;
  /**
   * A cell (two words of 64 bits) that is 0 when the node begins. If it is not 0 after the node, the run fails before its next collective, and
   * neither it nor later runs of the same call update.
   *
   * @param describe makes the error from the cell, or the message of an ArgumentError without the period at its end
   */
  refusal(describe: Refusal['describe']): GpuAddress;
  /**
   * In an update: the address of a cell (int64) that is not 0 if a value was refused before. Kernels that change parameters then
   * write nothing. Call it before the launch. Undefined: no value can be refused before.
   */
  guard(): GpuAddress | undefined;
  /** Launches a kernel. Not called for a grid without blocks. `sharedBytes` of dynamic shared memory. Default: 0. */
  launch(
    kernel: Kernel,
    grid: GpuExtent,
    block: GpuExtent,
    args: readonly GpuArgument[],
    sharedBytes?: number,
  ): void;
  /** Adds a command that is no launch. Its name gets a number. */
  add(command: GpuCommand): void;
  /** Exchanges numbers with other ranks, after the commands so far and before those that follow. */
  exchange(message: CollectiveMessage): void;
}

/** Adds the commands that compute a node's outputs. */
export type LowerNode<Op extends OpName> = (node: Node<Op>, lowering: Lowering) => void;

/** Where a node reads other values than its inputs, which need not be computed for it. */
export type ReadsOf<Op extends OpName> = (node: Node<Op>) => readonly Value[];

/** The kernels of one family; a missing member is a type error. */
export type LoweringFamily<Op extends OpName> = { readonly [O in Op]: LowerNode<O> };

/** An address that is some bytes after another. */
export function after(address: GpuAddress, bytes: number): GpuAddress {
  return 'arena' in address
    ? { arena: address.arena + bytes }
    : { slot: address.slot, byteOffset: (address.byteOffset ?? 0) + bytes };
}
