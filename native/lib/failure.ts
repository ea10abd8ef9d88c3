import type { nativeFailureCode } from './generated/numbers.ts';

/** The error of every operation of a `NativeProcessGroup`. */
export interface NativeFailure extends Error {
  /** `UNTRUSTED`: a rank has a different key. `ALTERED`: bytes on an encrypted connection were changed in transit. */
  code: keyof typeof nativeFailureCode;
  /** The operation that failed on this rank, such as `allReduce #41 (float32, 1,048,576 elements, SUM)`. */
  operation: string;
  /** Timeout of that operation. */
  timeoutMs: number;
  /**
   * The ranks that died, were missing, or disagreed. `seenIn`: the operation in which that rank was last seen.
   * Empty if this process itself is the cause.
   */
  ranks: { rank: number; seenIn?: string }[];
}
