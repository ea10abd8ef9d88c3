import { RingrunError } from '@ringrun/core';

/** Error codes by problem. */
const codes = {
  'not written': 'ERR_CHECKPOINT_NOT_WRITTEN',
  'not read': 'ERR_CHECKPOINT_NOT_READ',
  'not found': 'ERR_CHECKPOINT_NOT_FOUND',
  damaged: 'ERR_CHECKPOINT_DAMAGED',
  'newer format': 'ERR_CHECKPOINT_VERSION',
  'does not fit': 'ERR_CHECKPOINT_MISFIT',
  'ranks differ': 'ERR_CHECKPOINT_RANKS_DIFFER',
  behind: 'ERR_CHECKPOINT_BEHIND',
  'in use': 'ERR_CHECKPOINT_IN_USE',
} as const satisfies Record<CheckpointProblem, string>;

/** Kinds of checkpoint failures. */
export type CheckpointProblem =
  | 'not written'
  | 'not read'
  | 'not found'
  | 'damaged'
  | 'newer format'
  | 'does not fit'
  | 'ranks differ'
  | 'behind'
  | 'in use';

/** Saving or resuming failed. Every rank throws the same message, and no state has changed. */
export class CheckpointError extends RingrunError {
  /** Kind of failure, for programs that react to it; `code` is its error code. */
  readonly problem: CheckpointProblem;

  constructor(problem: CheckpointProblem, message: string, options?: ErrorOptions) {
    super(codes[problem], message, options);
    this.problem = problem;
  }
}

/** A serializable error, sent to other ranks and threads. */
export interface Failure {
  name: string;
  message: string;
  code?: string;
  /** Set for a CheckpointError. */
  problem?: CheckpointProblem;
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, code } = error as Error & { code?: string };
  return {
    name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(error instanceof CheckpointError ? { problem: error.problem } : {}),
  };
}

/** Restores an error from its serialized form. */
export function errorOf({ name, message, code, problem }: Failure): Error {
  if (problem !== undefined) return new CheckpointError(problem, message);
  return Object.assign(new Error(message), { name, ...(code === undefined ? {} : { code }) });
}
