import { withoutCredentials } from './without-credentials.ts';

/**
 * Base class of all ringrun errors: a stable `code`, and a message with the actual value, the expected value and a fix.
 */
export class RingrunError extends Error {
  /** Stable name of the kind of failure, such as `ERR_PEER_DIED`; docs/errors.md lists all of them. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(withoutCredentials(message), options);
    this.name = new.target.name;
    this.code = code;
    maskCause(options?.cause);
  }
}

/** Node prints the causes of an uncaught error, such as undici's with the URL of a request. */
function maskCause(cause: unknown): void {
  for (let depth = 0; cause instanceof Error && depth < 8; depth += 1) {
    const { message, stack } = cause;
    if (withoutCredentials(message) !== message && !Object.isFrozen(cause)) {
      cause.message = withoutCredentials(message);
      if (stack !== undefined) cause.stack = withoutCredentials(stack);
    }
    ({ cause } = cause);
  }
}

/** An invalid argument or setting. Thrown before anything is changed. */
export class InvalidArgumentError extends RingrunError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_INVALID_ARGUMENT', message, options);
  }
}

/** A rank and the process that runs it, as error messages name it. */
export interface RankIdentity {
  /** Rank in the group of the operation, from 0. */
  rank: number;
  /** Host name of the rank's machine. */
  host: string;
  /** Process id on that host. */
  pid: number;
}

/** A process of the group exited, or its connection broke, while other ranks still needed it. */
export class PeerDiedError extends RingrunError {
  /** The dead rank: the first of `peers`. */
  readonly peer: RankIdentity;
  /**
   * All ranks that were known to be dead when the operation failed, at least one. A rank that detects several deaths at
   * once cannot determine which of them caused the others.
   */
  readonly peers: readonly [RankIdentity, ...RankIdentity[]];
  /** The operation that failed on this rank, such as `allReduce #41 (float32, 1,048,576 elements)`. */
  readonly operation: string;

  constructor(peers: readonly [RankIdentity, ...RankIdentity[]], operation: string, message: string) {
    super('ERR_PEER_DIED', message);
    this.peer = peers[0];
    this.peers = peers;
    this.operation = operation;
  }
}

/** An operation did not complete in time. The message names the missing ranks and the last known operation of each. */
export class CollectiveTimeoutError extends RingrunError {
  /** The ranks that the operation waited for. */
  readonly missing: readonly RankIdentity[];
  /** The operation that timed out on this rank, such as `allReduce #41 (float32, 1,048,576 elements)`. */
  readonly operation: string;
  #report: string | undefined;

  constructor(missing: readonly RankIdentity[], operation: string, message: string) {
    super('ERR_COLLECTIVE_TIMEOUT', message);
    this.missing = missing;
    this.operation = operation;
  }

  /**
   * The operations and JavaScript stacks of all ranks of the job when the operation timed out, the same text on each of
   * them. Without ringrun's launcher, the text has no stacks and explains why. Undefined if it could not be collected.
   */
  get report(): string | undefined {
    return this.#report;
  }

  /** @internal */
  set report(report: string | undefined) {
    this.#report = report;
  }
}

/**
 * Ranks called different operations, or the same one with different dtypes or lengths. The message shows both sides.
 */
export class CollectiveMismatchError extends RingrunError {
  /** The different operations with the ranks that called them, as far as this rank knows. */
  readonly sides: readonly OperationSide[];
  /** The operation that this rank called, such as `allReduce #41 (float32, 1,048,576 elements)`. */
  readonly operation: string;

  constructor(sides: readonly OperationSide[], operation: string, message: string) {
    super('ERR_COLLECTIVE_MISMATCH', message);
    this.sides = sides;
    this.operation = operation;
  }
}

/** One side of a `CollectiveMismatchError`. */
export interface OperationSide {
  /** The operation, such as `allReduce #41 (float32, 1,048,576 elements)`. */
  readonly operation: string;
  /** The ranks that called it. */
  readonly ranks: readonly RankIdentity[];
}

/** Keys were not set in time, or the store could not be reached. */
export class StoreTimeoutError extends RingrunError {
  /** The keys that were not set; empty if the store could not be reached. */
  readonly missingKeys: readonly string[];
  /** The ranks of the job that did not call `initProcessGroup` or `newGroup` in time; empty for other keys. */
  readonly missingRanks: readonly number[];

  constructor(missingKeys: readonly string[], message: string, missingRanks: readonly number[] = []) {
    super('ERR_STORE_TIMEOUT', message);
    this.missingKeys = missingKeys;
    this.missingRanks = missingRanks;
  }
}
