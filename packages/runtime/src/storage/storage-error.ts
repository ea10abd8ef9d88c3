import { RingrunError } from '@ringrun/core';

/** Error codes by problem. */
const codes = {
  'not found': 'ERR_STORAGE_NOT_FOUND',
  'no permission': 'ERR_STORAGE_PERMISSION',
  'no valid credentials': 'ERR_STORAGE_CREDENTIALS',
  'no such bucket': 'ERR_STORAGE_BUCKET',
  'wrong endpoint': 'ERR_STORAGE_ENDPOINT',
  interrupted: 'ERR_STORAGE_INTERRUPTED',
  full: 'ERR_STORAGE_FULL',
  'read-only': 'ERR_STORAGE_READ_ONLY',
  failed: 'ERR_STORAGE',
} as const satisfies Record<StorageProblem, string>;

/** Kinds of storage failures. */
export type StorageProblem =
  | 'not found'
  | 'no permission'
  | 'no valid credentials'
  | 'no such bucket'
  | 'wrong endpoint'
  | 'interrupted'
  | 'full'
  | 'read-only'
  | 'failed';

/**
 * A storage operation failed. The message has the operation, the location, the problem with its reason, and the fix.
 */
export class StorageError extends RingrunError {
  /** Kind of failure, for programs that react to it; `code` is its error code. */
  readonly problem: StorageProblem;

  constructor(
    problem: StorageProblem,
    attempt: string,
    reason: string,
    cure: string,
    options?: ErrorOptions,
  ) {
    super(codes[problem], `${attempt}: ${problem} (${reason}). ${cure}.`, options);
    this.problem = problem;
  }
}
