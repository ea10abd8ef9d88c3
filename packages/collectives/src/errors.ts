/** What ringrun throws: a stable `code` to branch on, and a message that says what was given, what was expected and how to mend it. */
export class RingrunError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** An argument or setting that cannot work. Nothing was changed. */
export class InvalidArgumentError extends RingrunError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_INVALID_ARGUMENT', message, options);
  }
}

/** A rank and where it runs, for messages that have to name it. */
export interface RankIdentity {
  rank: number;
  host: string;
  pid: number;
}

/** A process of the group ended, or its connection broke, while others still needed it. */
export class PeerDiedError extends RingrunError {
  readonly peer: RankIdentity;
  /** What this rank was doing, such as `allReduce #41 (float32, 1,048,576 elements)`. */
  readonly operation: string;

  constructor(peer: RankIdentity, operation: string, message: string) {
    super('ERR_PEER_DIED', message);
    this.peer = peer;
    this.operation = operation;
  }
}

/** An operation did not complete in time; the message says which ranks were missing and where each was seen last. */
export class CollectiveTimeoutError extends RingrunError {
  readonly missing: readonly RankIdentity[];
  readonly operation: string;

  constructor(missing: readonly RankIdentity[], operation: string, message: string) {
    super('ERR_COLLECTIVE_TIMEOUT', message);
    this.missing = missing;
    this.operation = operation;
  }
}

/** Ranks called different operations, or the same with different dtypes or lengths; the message shows both sides. */
export class CollectiveMismatchError extends RingrunError {
  constructor(message: string) {
    super('ERR_COLLECTIVE_MISMATCH', message);
  }
}

/** Keys of the store did not appear in time, or the store itself was not reached. */
export class StoreTimeoutError extends RingrunError {
  readonly missingKeys: readonly string[];

  constructor(missingKeys: readonly string[], message: string) {
    super('ERR_STORE_TIMEOUT', message);
    this.missingKeys = missingKeys;
  }
}
