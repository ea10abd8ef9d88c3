import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { Value } from '../graph/node.ts';

/** A value and the memory that it is written to. */
export interface BufferAssignment {
  readonly value: Value;
  readonly into: ManagedBuffer;
}
