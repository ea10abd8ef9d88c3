import { printable, RingrunError } from '@ringrun/core';

/** Error codes by problem. */
const codes = {
  'not found': 'ERR_STORAGE_NOT_FOUND',
  'no permission': 'ERR_STORAGE_PERMISSION',
  'no valid credentials': 'ERR_STORAGE_CREDENTIALS',
  'no such bucket': 'ERR_STORAGE_BUCKET',
  'wrong endpoint': 'ERR_STORAGE_ENDPOINT',
  'invalid answer': 'ERR_STORAGE_ANSWER',
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
  | 'invalid answer'
  | 'interrupted'
  | 'full'
  | 'read-only'
  | 'failed';

/** Characters of a location or a reason that a message shows; a path has at most 4,096. */
const maxText = 5000;

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
    // Names of files and keys may have any characters.
    const shown = `${printable(attempt, maxText)}: ${problem} (${printable(reason, maxText)})`;
    super(codes[problem], `${shown}. ${cure}.`, options);
    this.problem = problem;
  }
}
