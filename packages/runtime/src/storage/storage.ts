/** What is stored under a name. */
export interface StoredObject {
  /** Below the storage's location, with `/` between its parts. */
  name: string;
  bytes: number;
}

/**
 * Named bytes below one place: a folder, a mounted volume, or a prefix of a bucket.
 *
 * Names have parts with `/` between them, such as `step-100/rank-0.bin`; one that leaves the place is an `InvalidArgumentError`. What fails rejects with a
 * `StorageError` that says what was tried and how to mend it.
 */
export interface Storage {
  /** Where it is, for messages: the folder's path, or `s3://bucket/prefix`. */
  readonly location: string;

  /** Everything whose name begins with `prefix` (any name unless given), in the order of the names' characters. Nothing there is an empty list. */
  list(prefix?: string): Promise<StoredObject[]>;

  /** All bytes under `name`. Nothing there is a `StorageError` whose problem is `not found`. */
  read(name: string): Promise<Uint8Array<ArrayBuffer>>;

  /**
   * Stores bytes, instead of what was there. Whoever reads meanwhile, and after a crash at any moment, finds all of the old or all of the
   * new. Once it resolves the bytes are durable.
   */
  write(name: string, bytes: Uint8Array): Promise<void>;

  /** Removes what is there; nothing there is no error. */
  delete(name: string): Promise<void>;

  /** Removes everything whose name begins with `folder` and a `/`, also what a crash has left half written there; nothing there is no error. */
  deleteFolder(folder: string): Promise<void>;
}
